"""The laws of the calculus by name: what each says, and when it holds. A proof remembers which ones it applied.

A law is noted where it is applied (`applied(Law.X)`). A mere choice of form (the order of factors, names of bound
variables) is no law. A certificate lists the laws that its proofs applied, also in attempts that did not succeed.
Every law is tested on drawn instances of its statement: `tests/obligations/terms/test_law.py`.
"""

from __future__ import annotations

from enum import Enum

from .session import session


class Law(Enum):
    """A law: its title, its statement, and its condition; without one it holds wherever both sides have a value."""

    # powers, exponentials, logarithms
    POWER_OF_PRODUCT = "power of a product", "(a·b)^e = a^e·b^e", "e is a whole number, or a > 0"
    POWER_OF_EVEN_POWER = (
        "fractional power of an even power",
        "(a^k)^e = |a|^(k·e)",
        "k is even, and k·e a whole number",
    )
    POWER_OF_POWER = "power of a power", "(a^k)^e = a^(k·e)", "a ≥ 0, or k is odd and a^k ≥ 0"
    EXP_OF_SUM = "exp of a sum", "exp(a + c·b) = exp(a)·exp(b)^c", ""
    EXP_OF_LOG = "exp of a logarithm", "exp(c·log p) = p^c", "p > 0"
    EXP_OF_LAMBERTW = "exp of Lambert's W", "exp(W(p)) = p/W(p)", "p ≠ 0"
    LOG_OF_PRODUCT = "logarithm of a product", "log(a^k·b) = k·log(a) + log(b)", "a > 0"
    LOG_OF_POWER = "logarithm of a power", "log(a^k) = k·log(a)", "k is odd, and a > 0"
    LOG_OF_TURNED = (
        "logarithm of 1 + exp",
        "log(1 + exp((1 − 2·[φ])·p)) = log(1 + exp(p)) − [φ]·p, and log(1 + exp(−|p|)) = log(1 + exp(p)) − [p > 0]·p",
        "",
    )
    SIN_SQUARED = "square of a sine", "sin²(p) = 1 − cos²(p)", ""
    CUBE_OF_CBRT = "cube of a cube root", "cbrt(p)³ = p", ""
    PARITY = "odd and even functions", "f(−p) = −f(p), or f(−p) = f(p)", "f is odd, or f is even"
    WHOLE_TURNS = "whole turns", "sin(p + 2π·k) = sin(p), cos(p + 2π·k) = cos(p)", "k is a whole number"
    FLOOR_OF_SHIFTED = "floor of a shifted number", "⌊p + k⌋ = ⌊p⌋ + k", "k is a whole number"
    FLOOR_OF_NEGATED = "floor of a negated number", "⌊−p⌋ = −⌊p⌋ − [p − ⌊p⌋ > 0]", ""

    # predicates
    IDEMPOTENT = "conditions are 0 or 1", "[φ]² = [φ]", ""
    OPPOSITES = "opposite signs", "[p > 0]·[−p > 0] = 0", ""
    BOTH_SIDES = "both sides of a seam", "([p > 0] + [−p > 0])·p = p", ""
    OFF_ZERO = (
        "sides of a number that is not 0",
        "[−p > 0] = 1 − [p > 0], and 1/sign(p) = sign(p); [λᵢ > λⱼ] + [λⱼ > λᵢ] = 1 − [i = j]",
        "p ≠ 0; no two λ are equal",
    )
    POSITIVE_FACTOR = "positive factors of a sign", "[a·p > 0] = [p > 0]", "a > 0"
    EXP_OF_CHOSEN = (
        "exponentials in a selection",
        "[φ]·exp([φ]·p) = [φ]·exp(p), and (1 − [φ])·exp([φ]·p) = 1 − [φ]",
        "",
    )
    BASE_OF_CHOSEN = "bases in a selection", "(1 − [i = j])·p^e = (1 − [i = j])·(p + [i = j])^e", "p = 0 where i = j"
    SIGN_OF_PRODUCT = "sign of a product", "[f·g > 0] = [f > 0]·[g > 0] + [−f > 0]·[−g > 0]", ""
    INDEX_CONDITIONS = (
        "conditions on an index",
        "[e ≥ 0]·[e + c ≥ 0] = [e ≥ 0], and [e ≥ 0]·[−e − 1 ≥ 0] = 0",
        "e is a whole number, and c ≥ 0",
    )

    BESIDE_CONDITION = (
        "conditions beside a condition",
        "[φ]·f([ψ]) = [φ]·f(1), and [e ≥ 1]·e = e",
        "φ implies ψ; e is a whole number, and e ≥ 0",
    )
    ZERO_OF_PRODUCT = "zeros of a product", "p·q = 0 only where p = 0 or q = 0", ""

    # indices
    ROW_MAJOR = "row-major places", "⌊(i·m + j)/m⌋ = i, and (i·m + j) mod m = j", "0 ≤ j < m"
    PERMUTATION_UNDONE = "a permutation and its inverse", "σ(σ⁻¹(i)) = i", "0 ≤ i < n"
    EQUAL_PLACES = "equal places of a permutation", "[σ(s) = σ(t)] = [s = t]", "0 ≤ s < n, 0 ≤ t < n"
    IN_ORDER = "an order of what is in order", "σ(t) = t", "σ is the order of x[τ(t)], where τ is that of x"
    BY_PLACES = (
        "entries by their places in an order",
        "Σ_{i<n} f(i) = f(σ(0)) + … + f(σ(n − 1)), and x[σ(t)] ≤ x[σ(t + 1)]",
        "σ is the order of x",
    )

    # sums, maxima, products
    SUM_OF_PRODUCT = "sums over separate indices", "Σ_ij a(i)·b(j) = Σ_i a(i)·Σ_j b(j)", ""
    SUM_OF_CONSTANT = "sum of a constant", "Σ_{v<n} c = n·c", ""
    EQUAL_INTEGERS = "equal integers", "[a = b]·f(a) = [a = b]·f(b)", "a and b are whole numbers"
    SUM_AT_EQUATION = "sum over an equation", "Σ_{v<n} [v = e]·f(v) = [0 ≤ e < n]·f(e)", "e is a whole number"
    SUM_BY_ROWS = "sum by rows and columns", "Σ_{v<q·m} f(⌊v/m⌋, v mod m) = Σ_{i<q} Σ_{j<m} f(i, j)", ""
    SUM_CUT = "sum cut in two", "Σ_{v<n} f(v) = Σ_{v<a} f(v) + Σ_{v<n−a} f(v + a)", "0 ≤ a ≤ n"
    SUM_REORDERED = "sum in another order", "Σ_{t<n} f(σ(t), t) = Σ_{i<n} f(i, σ⁻¹(i))", "σ is a permutation"
    SUM_TURNED = "sum counted down", "Σ_{v<n} f(n − 1 − v) = Σ_{v<n} f(v)", ""
    SUM_OF_CONDITION = "places counted", "Σ_{v<n} [v ≤ e] = e + 1, and Σ_{v<n} [v ≥ e] = n − e", "both are from 0 to n"
    SUM_FROM_BELOW = "sum from a bound on", "Σ_{e≤v<n} f(v) = Σ_{v<n} f(v) − Σ_{v<n, v<e} f(v)", ""
    SUMS_OVER_PAIRS = (
        "sums over pairs",
        "Σ_kl f(k, l) = Σ_kl ½·(f(k, l) + f(l, k)), and Σ_k f(k) = Σ_kl [k = l]·f(k)",
        "",
    )
    MAXIMUM_OF_SUM = "maximum of a sum", "max_j (a + f(j)) = a + max_j f(j)", ""
    MAXIMUM_AT_ARGUMENT = "maximum at its argument", "max_j e(j) = e(argmax_j e(j))", ""
    MAXIMUM_ABOVE = (
        "a maximum above its entries",
        "[e(k) > max_j e(j)] = 0, and [max_j e(j) > e(k)] = 1 − [k = argmax e]",
        "for the second, the maximum is attained once",
    )
    PRODUCT_OF_PRODUCTS = "product of products", "Π_S f·g = Π_S f·Π_S g, and Π_S f^k = (Π_S f)^k", ""
    PRODUCT_SPLIT = "factor split off", "Π_{k∈S} f(k) = f(j)·Π_{k∈S, k≠j} f(k)", "j ∈ S"
    PRODUCT_BY_FORMAL_SUM = (
        "equal formal sums",
        "Π_{k∈S} f(k) = Π_{k∈T} g(k)",
        "every number is a value of f on S as often as of g on T",
    )
    PRODUCT_OF_CONSTANT = "product of a constant", "Π_S c = c^|S|", ""
    COUNT = (
        "a count and its places",
        "[Σ_{k∈S} φ(k) ≥ 1] = 1 − Π_{k∈S} (1 − φ(k)), and [Σ_{k∈S} φ(k) ≥ 2] = 1 − Π_{k∈S, k≠j} (1 − φ(k))",
        "φ is 0 or 1; for the second, j ∈ S and φ(j) = 1",
    )
    THRESHOLD = (
        "entries above a threshold",
        "[p(i) > 0] = [σ⁻¹(i) ≥ n − K], where K = Σ_i [p(i) > 0]",
        "σ is an order of n entries, and p(σ(t)) > 0 implies p(σ(t + 1)) > 0",
    )

    # matrices
    INVERSE = "inverse of a matrix", "A⁻¹·A = A·A⁻¹ = I", "det(A) ≠ 0"
    INVERSE_OF_SCALED = "inverse of a multiple", "(c·A)⁻¹ = A⁻¹/c", "c ≠ 0, det(A) ≠ 0"
    CHOLESKY = "Cholesky factor", "L·Lᵀ = S, L⁻ᵀ·L⁻¹ = S⁻¹, S⁻¹·L = L⁻ᵀ", "S is positive definite"
    TRIANGULAR = "triangular matrices", "Lᵢⱼ = 0 for i < j, and (L⁻¹)ᵢⱼ = 0 for i < j", "L is lower triangular"
    LEIBNIZ_DETERMINANT = "determinant of a small matrix", "det(A) = Σ_σ sign(σ)·Π_i A[i, σ(i)]", ""
    INVERSE_BY_COFACTORS = (
        "inverse of a small matrix",
        "(A⁻¹)ᵢⱼ = (−1)^(i+j)·det(A without row j, column i)/det(A)",
        "det(A) ≠ 0",
    )
    INVERSE_OF_PRODUCT = (
        "inverse and determinant of a product",
        "(F·G)⁻¹ = G⁻¹·F⁻¹, det(F·G) = det(F)·det(G)",
        "F and G are square, and for the first det(F)·det(G) ≠ 0",
    )
    RANK_ONE_UPDATE = (
        "update of rank one",
        "det(M + u·vᵀ) = det(M)·s, (M + u·vᵀ)⁻¹ = M⁻¹ − M⁻¹·u·vᵀ·M⁻¹/s, with s = 1 + vᵀ·M⁻¹·u",
        "det(M) ≠ 0, s ≠ 0",
    )
    COMPLEX_BLOCKS = (
        "inverse of a complex matrix on real and imaginary parts",
        "(M⁻¹)[i + n, j + n] = (M⁻¹)[i, j], (M⁻¹)[i, j + n] = −(M⁻¹)[i + n, j]",
        "M = [[A, −B], [B, A]] with A and B of n rows, and det(M) ≠ 0",
    )
    PIVOTED = (
        "factors by elimination with pivots",
        "Σ_k L[i, k]·U[k, j] = A[σ(i), j], Σ_k (U⁻¹)[i, k]·(L⁻¹)[k, j] = (A⁻¹)[i, σ(j)]",
        "L, U and σ are those of A, and for the second det(A) ≠ 0",
    )
    EQUAL_INVERSES = "inverses of equal matrices", "A⁻¹ = B⁻¹/c", "A = c·B, which is proved entry by entry, and c ≠ 0"
    ORTHONORMAL = "orthonormal columns", "XᵀX = I, and XXᵀ = I for a square X", "X is a factor of eigh, svd or qr"
    SPECTRAL_POWER = "powers by eigenvalues", "V·Λ^p·Vᵀ = A^p", "p is a whole number, and p > 1"
    FACTORISATION = "factors of a matrix", "V·Λ·Vᵀ = A (eigh), U·Σ·Vᵀ = A (svd), Q·R = A (qr)", ""

    # limits
    LIMITS = (
        "limits at excluded points",
        "f = g at a limit of points at which f = g, and Df = g where also Df = g at these",
        "f and g are continuous",
    )

    # functions beside each other
    INVERSE_FUNCTIONS = (
        "functions of their inverses",
        "erf(erf_inv(p)) = p, erf_inv(erf(p)) = p",
        "for the first, −1 < p < 1",
    )
    INVERSE_HYPERBOLIC = (
        "inverse hyperbolic functions",
        "asinh(p) = log(p + √(1 + p²)), acosh(p) = log(p + √(p² − 1)), atanh(p) = ½·log(1 + p) − ½·log(1 − p)",
        "",
    )
    LOGARITHMS_CANCEL = "logarithms that cancel", "Σ c·log(p) + q = 0", "Π p^(n·c)·exp(n·q) = 1 for some n > 0"
    ADDITION_THEOREM = (
        "sine and cosine of sums and of inverse functions",
        "cos(a + b) + i·sin(a + b) = (cos a + i·sin a)·(cos b + i·sin b), sin(asin p) = p, cos(asin p) = √(1 − p²)",
        "",
    )
    ANGLES_CANCEL = (
        "angles that cancel",
        "Σ c·arg z + d·π = 0",
        "e^(i·n·d·π)·Π z^(n·c) > 0, and |n·(Σ c·arg z + d·π)| < 2π",
    )
    GAMMA_RECURRENCE = (
        "recurrences of Γ and its relatives",
        "log|Γ(p + 1)| = log|Γ(p)| + log|p|, ψ(p + 1) = ψ(p) + 1/p, ζ(s, p) = ζ(s, p + 1) + p⁻ˢ",
        "p is no pole",
    )
    BESSEL_RECURRENCE = (
        "recurrences of Bessel functions",
        "J_{v−1}(x) + J_{v+1}(x) = (2v/x)·J_v(x), and its like for Y, I, K",
        "x ≠ 0",
    )
    MONOTONE = (
        "comparisons under a monotone function",
        "[f(u) > f(v)] = [u > v]",
        "f is strictly increasing where u and v are",
    )
    ROOT_OF_FACTORS = (
        "roots of products and quotients",
        "(A·B)^q = A^q·B^q, (A/D)^q = A^q·D^(−q)",
        "A, B ≥ 0, D > 0",
    )
    CBRT_OF_PRODUCT = (
        "cube roots of products",
        "cbrt(a·b) = cbrt(a)·cbrt(b), cbrt(a) = a^(1/3)",
        "for the second, a ≥ 0",
    )
    ROOTS_OF_UNITY = (
        "sums over roots of unity",
        "Σ_{k<n} cos(2π·k·m/n + φ) = n·[n divides m]·cos(φ)",
        "m is a whole number",
    )

    HALF_SPECTRUM = (
        "sums over half a spectrum",
        "Σ_{k≤⌊n/2⌋} f(k) = (Σ_{k<n} f(k) + f(0) + e·f(n/2)) / 2, and Σ_{k≤⌊n/2⌋} [2·k = n]·f(k) = e·f(n/2)",
        "f(k) = cos(2π·k·m/n), m is a whole number, e = 2·⌊n/2⌋ − n + 1",
    )

    # loops and equations
    CLOSED_CARRY = (
        "carries with a closed form",
        "c[t] = c[0] + Σ_{s<t} b(s) where c[s + 1] = c[s] + b(s)",
        "b does not read c; likewise for carries that are kept, overwritten, written row by row, or rescaled",
    )
    LINEAR_CARRY = (
        "linear recurrences",
        "c[t] = c[0]·Π_{k<t} a(k) + Σ_{j<t} b(j)·Π_{j<k<t} a(k) where c[s + 1] = a(s)·c[s] + b(s)",
        "a and b do not read c",
    )
    SCALED_CARRY = (
        "starts of linear recurrences",
        "c[t] = λ·d[t] for all t",
        "c[0] = λ·d[0], c[s + 1] = A(s)·c[s], d[s + 1] = A(s)·d[s]",
    )
    LOG_CARRY = (
        "recurrences in log space",
        "c[t] = log(e[t]) for all t",
        "c[s + 1] = log(P(exp(c[s]))), e[0] = exp(c[0]), e[s + 1] = P(e[s])",
    )
    LATER_CARRY = (
        "carries a step later",
        "c[t] = (c[t + 1] − b(t))/a(t) where c[s + 1] = a(s)·c[s] + b(s)",
        "a(t) > 0",
    )
    EQUAL_RECURRENCES = (
        "equal recurrences",
        "c[t] = d[t] for all t",
        "c[0] = d[0], and c[s + 1] = d[s + 1] if c[s] = d[s]",
    )
    ADJOINT_RECURRENCE = (
        "adjoint of a linear recurrence",
        "⟨c[N], p⟩ + Σ_{t<N} ⟨c[t], q(t)⟩ = ⟨c[0], μ[0]⟩ + Σ_{t<N} ⟨u(t), μ[t + 1]⟩",
        "c[t + 1] = A(t)·c[t] + u(t), μ[N] = p, μ[t] = A(t)ᵀ·μ[t + 1] + q(t)",
    )
    AFFINE_EQUATION = "solution of an affine equation", "z = −J⁻¹·r where J·z + r = 0", "det(J) ≠ 0"
    IMPLICIT_FUNCTION = (
        "derivative of an implicit function",
        "dz = −J⁻¹·∂R/∂θ·dθ where R(z, θ) = 0",
        "det(∂R/∂z) ≠ 0",
    )

    # derivatives beyond the chain rule
    DERIVATIVE_OF_PRODUCT = (
        "derivative of a product over a range",
        "d Π_{k∈S} f(k) = Σ_{j∈S} df(j)·Π_{k∈S, k≠j} f(k)",
        "",
    )
    DERIVATIVE_OF_MAXIMUM = "derivative of a maximum", "d max_j e(j) = de(argmax e)", "it is attained once"
    DERIVATIVE_OF_INVERSE = "derivative of an inverse", "d(A⁻¹) = −A⁻¹·dA·A⁻¹", "det(A) ≠ 0"
    DERIVATIVE_OF_DETERMINANT = "derivative of a determinant", "d det(A) = det(A)·tr(A⁻¹·dA)", "det(A) ≠ 0"
    DERIVATIVE_OF_CHOLESKY = "derivative of a Cholesky factor", "dL = L·Φ(L⁻¹·dS·L⁻ᵀ)", "S is positive definite"
    DERIVATIVE_OF_FACTORS = (
        "derivatives of factors",
        "dλ_k = (VᵀdA·V)_kk, dV = V·(F∘VᵀdA·V), and those of svd and qr",
        "no eigenvalue or singular value is repeated",
    )
    DERIVATIVE_OF_PIVOTED = (
        "derivatives of factors by elimination with pivots",
        "dL = L·(W below the diagonal), dU = (W on and above the diagonal)·U, with W = L⁻¹·P·dA·U⁻¹",
        "det(A) ≠ 0, and no two candidates for a pivot have the same modulus",
    )

    # how a difference is shown to vanish
    PAIRED = (
        "tangents and seeds are arbitrary",
        "Σ dx[a]·seed[b]·K(a, b) = 0 for all dx and seed",
        "K(a, b) = 0 for all a and b",
    )
    SUMMANDS = "sums of equal summands", "Σ_i f(i) = 0", "f(i) = 0 for all i"
    SIGN_REGIONS = "sign regions", "e = 0", "e = 0 where p > 0, where p = 0 and where p < 0"
    INDEX_SETS = (
        "sums over index sets",
        "Σ c·Σ_{v∈S} q(v)·Π f(e(v)) = 0",
        "the coefficient of every Π f(s) is 0 (isl)",
    )
    CAUCHY_SCHWARZ = "Cauchy and Schwarz", "(Σ_{v<n} f(v))² ≤ n·Σ_{v<n} f(v)²", ""
    LINEAR_ARITHMETIC = (
        "linear arithmetic",
        "no point satisfies a set of inequalities",
        "0 > 0 is a sum of multiples of them, where n ≥ 1 stands for n > 0 of an integer n (Fourier and Motzkin)",
    )

    def __init__(self, title: str, statement: str, condition: str) -> None:
        self.title, self.statement, self.condition = title, statement, condition


def applied(law: Law) -> None:
    """Record in the session that the present proof applied the law."""
    session.laws[law] = None


def applied_laws() -> list[Law]:
    """Return the laws that were applied since the session began, in the order of their first application."""
    return list(session.laws)

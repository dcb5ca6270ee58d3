"""Linear algebra: part 6 of the issue."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import expm, solve_triangular
from jax.scipy.sparse.linalg import cg

from benchmarks.pairs.form import Pairs, reals, vjp, vjps

PAIRS = pairs = Pairs()


def square(rng):
    return (np.diag([1.0, 2.0, 3.5]) + 0.3 * rng.normal(size=(3, 3)),)


def positive(rng):
    a = rng.normal(size=(3, 3))
    return a @ a.T + np.eye(3)


def sym(a):
    return (a + a.T) / 2


SPECTRUM = "eigh, svd, qr under simple spectrum or full rank"


@pairs(SPECTRUM, "n n -> n, n n", square)
def eigh_both():
    """Eigenvalues and vectors of the symmetric part; the wrong rule has the differences the other way round."""

    def f(a):
        return jnp.linalg.eigh(sym(a), symmetrize_input=False)

    def fwd(a):
        out = f(a)
        return out, out

    def back(sign):
        def bwd(saved, g):
            w, v = saved
            gw, gv = g
            gap = w[None, :] - w[:, None]
            eye = jnp.eye(w.shape[0])
            inner = sign * (1 - eye) / (gap + eye) * (v.T @ gv)
            return (sym(v @ (jnp.diag(gw) + inner) @ v.T),)

        return bwd

    return vjps(f, fwd, back(1), back(-1))


@pairs(SPECTRUM, "n n -> n", square)
def eigenvalues():
    """Eigenvalues of the symmetric part."""

    def f(a):
        return jnp.linalg.eigvalsh(sym(a))

    def fwd(a):
        w, v = jnp.linalg.eigh(sym(a))
        return w, v

    return vjps(f, fwd, lambda v, g: (v @ (g[:, None] * v.T),), lambda v, g: (v.T @ (g[:, None] * v),))


@pairs(SPECTRUM, "n n -> n", square)
def singular_values():
    """Singular values of a square matrix."""

    def f(a):
        return jnp.linalg.svd(a, compute_uv=False)

    def fwd(a):
        u, s, vt = jnp.linalg.svd(a, full_matrices=False)
        return s, (u, vt)

    return vjps(
        f,
        fwd,
        lambda saved, g: ((saved[0] * g) @ saved[1],),
        lambda saved, g: (((saved[0] * g) @ saved[1]).T,),
    )


@pairs(SPECTRUM, "n n -> n n, n, n n", square)
def svd_all():
    """The whole svd of a square matrix."""

    def f(a):
        return tuple(jnp.linalg.svd(a, full_matrices=False))

    def fwd(a):
        out = f(a)
        return out, out

    def back(both):
        def bwd(saved, g):
            u, s, vt = saved
            gu, gs, gvt = g
            eye = jnp.eye(s.shape[0])
            gap = (1 - eye) / (s[None, :] ** 2 - s[:, None] ** 2 + eye)
            j, k = gap * (u.T @ gu), gap * (vt @ gvt.T)
            inner = jnp.diag(gs) + (j + j.T) * s + s[:, None] * (k + (k.T if both else k))
            return (u @ inner @ vt,)

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(SPECTRUM, "n n -> n n, n n", square)
def qr_square():
    """QR of a square matrix of full rank."""

    def f(a):
        return tuple(jnp.linalg.qr(a))

    def fwd(a):
        out = f(a)
        return out, out

    def back(copy):
        def bwd(saved, g):
            q, r = saved
            gq, gr = g
            m = r @ gr.T - gq.T @ q
            low = jnp.tril(m) + (jnp.tril(m, -1).T if copy else 0.0)
            return (solve_triangular(r, (gq + q @ low).T, lower=False).T,)

        return bwd

    return vjps(f, fwd, back(True), back(False))


CHOICE = "what does not depend on the choice of vectors"


@pairs(CHOICE + " (pinv)", "m n -> n m", reals((4, 3)))
def pseudoinverse():
    """Golub and Pereyra's derivative of the pseudoinverse, of constant rank."""

    def f(a):
        return jnp.linalg.pinv(a)

    def fwd(a):
        p = f(a)
        return p, (a, p)

    def back(whole):
        def bwd(saved, g):
            a, p = saved
            d = -p.T @ g @ p.T
            if whole:
                left = jnp.eye(a.shape[0]) - a @ p
                right = jnp.eye(a.shape[1]) - p @ a
                d = d + left @ g.T @ p @ p.T + p.T @ p @ g.T @ right
            return (d,)

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(CHOICE + " (lstsq)", "m n, m -> n", reals((4, 3), (4,)))
def least_squares():
    """The least squares solution, with the residual's term."""

    def f(a, b):
        return jnp.linalg.lstsq(a, b)[0]

    def fwd(a, b):
        x = f(a, b)
        return x, (a, b, x)

    def back(residual):
        def bwd(saved, g):
            a, b, x = saved
            p = jnp.linalg.pinv(a)
            z = p.T @ g
            d = -jnp.outer(z, x) + jnp.outer(p.T @ x, g - p @ (a @ g))
            if residual:
                d = d + jnp.outer(b - a @ x, p @ z)
            return d, z

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(CHOICE + " (nuclear norm)", "n n -> ", square)
def nuclear_norm():
    """The sum of singular values; its gradient is the polar factor."""

    def f(a):
        return jnp.sum(jnp.linalg.svd(a, compute_uv=False))

    def fwd(a):
        u, s, vt = jnp.linalg.svd(a, full_matrices=False)
        return jnp.sum(s), u @ vt

    return vjps(f, fwd, lambda polar, g: (g * polar,), lambda polar, g: (g * polar.T,))


@pairs(CHOICE + " (functions of a symmetric matrix)", "n n -> ", square)
def estrada_index():
    """The trace of the exponential of the symmetric part."""

    def f(a):
        return jnp.sum(jnp.exp(jnp.linalg.eigvalsh(sym(a))))

    def fwd(a):
        w, v = jnp.linalg.eigh(sym(a))
        return jnp.sum(jnp.exp(w)), (w, v)

    return vjps(
        f,
        fwd,
        lambda saved, g: (g * (saved[1] * jnp.exp(saved[0])) @ saved[1].T,),
        lambda saved, g: (g * jnp.exp(saved[1] * saved[0] @ saved[1].T),),
    )


@pairs(CHOICE + " (log-densities)", "n, n n -> ", lambda r: (r.normal(size=3), positive(r)))
def normal_log_density():
    """log N(x; 0, A) by a Cholesky factor; the cotangents by solves."""

    def f(x, a):
        low = jnp.linalg.cholesky(a)
        z = solve_triangular(low, x, lower=True)
        return -0.5 * jnp.sum(z * z) - jnp.sum(jnp.log(jnp.diag(low)))

    def back(sign):
        def bwd(saved, g):
            x, a = saved
            inv = jnp.linalg.inv(sym(a))
            z = inv @ x
            return -g * z, 0.5 * g * (jnp.outer(z, z) + sign * inv)

        return bwd

    return vjps(f, lambda x, a: (f(x, a), (x, a)), back(-1), back(1))


FUNCTIONS = "expm, sqrtm, lu, Lyapunov and Sylvester equations"


@pairs(FUNCTIONS + " (expm)", "n n -> n n", lambda r: (0.3 * r.normal(size=(3, 3)),))
def matrix_exponential():
    """expm; the cotangent by the exponential of a block matrix with the transpose."""

    def back(transposed):
        def bwd(a, g):
            a = a.T if transposed else a
            return (expm(jnp.block([[a, g], [jnp.zeros_like(a), a]]))[: a.shape[0], a.shape[0] :],)

        return bwd

    def f(a):
        return expm(a)

    return vjps(f, lambda a: (f(a), a), back(True), back(False))


@pairs(FUNCTIONS + " (sqrtm)", "n n -> n n", lambda r: (positive(r),))
def square_root_of_symmetric():
    """The root of a positive definite matrix; its differential solves a Lyapunov equation."""

    def parts(a):
        w, v = jnp.linalg.eigh(sym(a))
        return jnp.sqrt(w), v

    def f(a):
        s, v = parts(a)
        return (v * s) @ v.T

    def back(under):
        def bwd(saved, g):
            s, v = saved
            return (sym(v @ ((v.T @ g @ v) / under(s)) @ v.T),)

        return bwd

    return vjps(
        f,
        lambda a: (f(a), parts(a)),
        back(lambda s: s[:, None] + s[None, :]),
        back(lambda s: 2 * s[:, None] * s[None, :]),
    )


@pairs(FUNCTIONS + " (lu)", "n n -> ", square)
def log_det_from_lu():
    """log |det| from the diagonal of an LU factorisation."""

    def f(a):
        lu = lax.linalg.lu(a)[0]
        return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(lu))))

    def fwd(a):
        return f(a), jnp.linalg.inv(a)

    return vjps(f, fwd, lambda inv, g: (g * inv.T,), lambda inv, g: (g * inv,))


@pairs(FUNCTIONS + " (lu)", "n n -> n n, n n", lambda r: (positive(r),))
def lu_unpacked():
    """L·U of a permuted matrix, put together again, is the matrix: the rule is the identity up to the permutation."""

    def f(a):
        lu, _, p = lax.linalg.lu(a)
        low = jnp.tril(lu, -1) + jnp.eye(a.shape[0])
        return low @ jnp.triu(lu), a[p]

    def fwd(a):
        _, _, p = lax.linalg.lu(a)
        return f(a), p

    def right(p, g):
        return (jnp.zeros_like(g[0]).at[p].add(g[0] + g[1]),)

    def wrong(p, g):
        return ((g[0] + g[1])[p] + jnp.triu(g[0]),)

    return vjps(f, fwd, right, wrong)


@pairs(FUNCTIONS + " (Lyapunov)", "n n, n n -> n n", lambda r: (*square(r), r.normal(size=(3, 3))))
def lyapunov():
    """A·X + X·Aᵀ = Q by a Kronecker sum; backwards the transposed equation."""

    def solved(a, q):
        eye = jnp.eye(a.shape[0])
        return jnp.linalg.solve(jnp.kron(a, eye) + jnp.kron(eye, a), q.ravel()).reshape(q.shape)

    def fwd(a, q):
        x = solved(a, q)
        return x, (a, x)

    def back(both):
        def bwd(saved, g):
            a, x = saved
            y = solved(a.T, g)
            return -y @ x.T - (y.T @ x if both else 0.0), y

        return bwd

    return vjps(solved, fwd, back(True), back(False))


@pairs(
    FUNCTIONS + " (Sylvester)",
    "n n, m m, n m -> n m",
    lambda r: (*square(r), np.eye(2) + 0.2 * r.normal(size=(2, 2)), r.normal(size=(3, 2))),
)
def sylvester():
    """A·X + X·B = C by a Kronecker sum."""

    def solved(a, b, c):
        k = jnp.kron(a, jnp.eye(b.shape[0])) + jnp.kron(jnp.eye(a.shape[0]), b.T)
        return jnp.linalg.solve(k, c.ravel()).reshape(c.shape)

    def fwd(a, b, c):
        x = solved(a, b, c)
        return x, (a, b, x)

    def back(order):
        def bwd(saved, g):
            a, b, x = saved
            y = solved(a.T, b.T, g)
            return -y @ x.T, -x.T @ y if order else -y.T @ x, y

        return bwd

    return vjps(solved, fwd, back(True), back(False))


DETERMINANTS = "det(AB), det Aᵀ, slogdet and log det in each other's terms"


@pairs(DETERMINANTS, "n n, n n -> ", lambda r: (*square(r), *square(r)))
def det_of_product():
    """det(A·B) by det A · det B."""

    def f(a, b):
        return jnp.linalg.det(a @ b)

    def fwd(a, b):
        da, db = jnp.linalg.det(a), jnp.linalg.det(b)
        return da * db, (a, b, da, db)

    def right(saved, g):
        a, b, da, db = saved
        return g * da * db * jnp.linalg.inv(a).T, g * da * db * jnp.linalg.inv(b).T

    def wrong(saved, g):
        a, b, da, db = saved
        return g * db * jnp.linalg.inv(a).T, g * da * jnp.linalg.inv(b).T

    return vjps(f, fwd, right, wrong)


@pairs(DETERMINANTS, "n n -> ", square)
def log_abs_det_of_transpose():
    """log |det A| in the function, slogdet of the transpose in the rule."""

    def f(a):
        return jnp.log(jnp.abs(jnp.linalg.det(a)))

    def back(turned):
        def bwd(a, g):
            return (g * jnp.linalg.solve(a.T if turned else a, jnp.eye(a.shape[0])),)

        return bwd

    return vjps(f, lambda a: (jnp.linalg.slogdet(a.T)[1], a), back(True), back(False))


@pairs(DETERMINANTS, "n n, n, n -> ", lambda r: (*square(r), r.normal(size=3), r.normal(size=3)))
def determinant_lemma():
    """det(A + u·vᵀ) = det A · (1 + vᵀA⁻¹u)."""

    def f(a, u, v):
        return jnp.linalg.det(a + jnp.outer(u, v))

    def bwd(saved, g):
        a, u, v = saved
        m = a + jnp.outer(u, v)
        d = g * jnp.linalg.det(m) * jnp.linalg.inv(m).T
        return d, d @ v, u @ d

    def value(swapped):
        def fwd(a, u, v):
            x = jnp.linalg.solve(a, v if swapped else u)
            return jnp.linalg.det(a) * (1 + jnp.dot(u if swapped else v, x)), (a, u, v)

        return fwd

    return vjp(f, value(False), bwd), vjp(f, value(True), bwd)


@pairs(DETERMINANTS, "n n -> ", square)
def gram_log_det():
    """log det(AᵀA) = 2·log |det A|."""

    def f(a):
        return jnp.linalg.slogdet(a.T @ a)[1]

    def fwd(a):
        return 2 * jnp.linalg.slogdet(a)[1], a

    return vjps(f, fwd, lambda a, g: (2 * g * jnp.linalg.inv(a).T,), lambda a, g: (g * jnp.linalg.inv(a).T,))


WITNESSES = "witnesses among positive definite, triangular and orthogonal matrices"


@pairs(WITNESSES, "n n -> ", lambda r: (positive(r),))
def cholesky_log_det():
    """log det of a positive definite matrix."""

    def f(a):
        return 2 * jnp.sum(jnp.log(jnp.diagonal(jnp.linalg.cholesky(a))))

    return vjps(
        f,
        lambda a: (f(a), a),
        lambda a, g: (g * jnp.linalg.inv(sym(a)),),
        lambda a, g: (g * jnp.tril(jnp.linalg.inv(sym(a))),),
    )


@pairs(WITNESSES, "n n -> n n", lambda r: (positive(r),))
def cholesky_factor():
    """Murray's reverse rule of the Cholesky factor."""

    def f(a):
        return jnp.linalg.cholesky(a)

    def fwd(a):
        low = f(a)
        return low, low

    def back(halves):
        def bwd(low, g):
            p = jnp.tril(low.T @ jnp.tril(g))
            if halves:
                p = p - 0.5 * jnp.diag(jnp.diagonal(p))
            inv = solve_triangular(low, jnp.eye(low.shape[0]), lower=True)
            return (sym(inv.T @ p @ inv),)

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(WITNESSES, "n n, n -> n", lambda r: (*square(r), r.normal(size=3)))
def triangular_solve():
    """A triangular solve reads one triangle alone."""

    def f(a, b):
        return solve_triangular(a, b, lower=True)

    def fwd(a, b):
        x = f(a, b)
        return x, (a, x)

    def back(mask):
        def bwd(saved, g):
            a, x = saved
            z = solve_triangular(a, g, lower=True, trans=1)
            return -mask(jnp.outer(z, x)), z

        return bwd

    return vjps(f, fwd, back(jnp.tril), back(lambda m: m))


@pairs(WITNESSES, "n n, n -> n", reals((3, 3), (3,)), differentiable=["x"])
def cayley_orthogonal():
    """Q = (I + S)⁻¹(I − S) of an antisymmetric S is orthogonal, so Qᵀ solves with Q."""

    def cayley(a):
        s = (a - a.T) / 2
        eye = jnp.eye(a.shape[0])
        return jnp.linalg.solve(eye + s, eye - s)

    def f(a, x):
        return jnp.linalg.solve(cayley(a), x)

    def fwd(a, x):
        q = cayley(a)
        return q.T @ x, q

    rules = vjps(f, fwd, lambda q, g: (None, q @ g), lambda q, g: (None, q.T @ g))
    return *rules, lambda a, x: f(lax.stop_gradient(a), x)


STRUCTURED = "structured solvers"


def bands(rng):
    low, up = rng.normal(size=(2, 5)) * 0.5
    low[0] = up[-1] = 0.0
    return low, 3 + rng.random(5), up, rng.normal(size=(5, 2))


@pairs(STRUCTURED + " (tridiagonal)", "n, n, n, n m -> n m", bands)
def tridiagonal_solve():
    """The transposed bands are the bands shifted; the wrong rule only swaps them."""

    def f(low, d, up, b):
        return lax.linalg.tridiagonal_solve(low, d, up, b)

    def fwd(low, d, up, b):
        x = f(low, d, up, b)
        return x, (low, d, up, x)

    def back(shifts):
        def bwd(saved, g):
            low, d, up, x = saved
            zero = jnp.zeros_like(d[:1])
            after, before = jnp.concatenate([low[1:], zero]), jnp.concatenate([zero, up[:-1]])
            z = lax.linalg.tridiagonal_solve(*((before, d, after) if shifts else (up, d, low)), g)
            dlow = -jnp.concatenate([zero, jnp.sum(z[1:] * x[:-1], 1)])
            dup = -jnp.concatenate([jnp.sum(z[:-1] * x[1:], 1), zero])
            return dlow, -jnp.sum(z * x, 1), dup, z

        return bwd

    def dense(low, d, up, b):
        return jnp.linalg.solve(jnp.diag(d) + jnp.diag(low[1:], -1) + jnp.diag(up[:-1], 1), b)

    return *vjps(f, fwd, back(True), back(False)), dense


@pairs(STRUCTURED + " (conjugate gradients)", "n n, n -> n", lambda r: (0.3 * r.normal(size=(3, 3)), r.normal(size=3)))
def ridge_by_conjugate_gradients():
    """(AᵀA + I)x = b by JAX's conjugate gradients, backwards by the same."""

    def f(a, b):
        return cg(lambda v: a.T @ (a @ v) + v, b, tol=1e-12)[0]

    def fwd(a, b):
        x = f(a, b)
        return x, (a, x)

    def back(both):
        def bwd(saved, g):
            a, x = saved
            z = cg(lambda v: a.T @ (a @ v) + v, g, tol=1e-12)[0]
            return -jnp.outer(a @ z, x) - (jnp.outer(a @ x, z) if both else 0.0), z

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(STRUCTURED + " (diagonal plus rank one)", "n, n, n -> n", reals((4,), (4,), (4,), low=0.3), domain="d > 0")
def woodbury():
    """(D + u·uᵀ)⁻¹b by Sherman and Morrison, beside a dense solve."""

    def f(d, u, b):
        return jnp.linalg.solve(jnp.diag(d) + jnp.outer(u, u), b)

    def solved(d, u, b):
        return b / d - u / d * jnp.dot(u / d, b) / (1 + jnp.dot(u, u / d))

    def fwd(d, u, b):
        x = solved(d, u, b)
        return x, (d, u, x)

    def back(both):
        def bwd(saved, g):
            d, u, x = saved
            z = solved(d, u, g)
            return -z * x, -z * jnp.dot(u, x) - (x * jnp.dot(u, z) if both else 0.0), z

        return bwd

    return vjps(f, fwd, back(True), back(False))

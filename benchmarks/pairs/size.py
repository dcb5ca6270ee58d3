"""Size: part 9 of the issue."""

import jax.numpy as jnp
import numpy as np

from benchmarks.pairs.form import Pairs, reals, vjps

PAIRS = pairs = Pairs()

TABLES = "tables of hundreds of constants"
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


@pairs(TABLES + " (quadratures)", "n -> n", reals((4,)))
def gauss_legendre():
    """∫ exp(−a·x²) dx over [−1, 1] by 200 nodes."""

    def f(a):
        return jnp.exp(-a[:, None] * NODES**2) @ WEIGHTS

    def right(a, g):
        return (-g * ((jnp.exp(-a[:, None] * NODES**2) * NODES**2) @ WEIGHTS),)

    def wrong(a, g):
        return (-g * ((jnp.exp(-a[:, None] * NODES**2) * NODES) @ WEIGHTS),)

    return vjps(f, lambda a: (f(a), a), right, wrong)


@pairs(TABLES + " (quadratures)", "n -> n", reals((4,)))
def gauss_legendre_with_weights_by_python():
    """The same with a product of constants that Python takes, and rounds."""

    def f(a):
        return jnp.exp(-a[:, None] * NODES**2) @ WEIGHTS

    def right(a, g):
        return (-g * (jnp.exp(-a[:, None] * NODES**2) @ (WEIGHTS * NODES**2)),)

    def wrong(a, g):
        return (-g * (jnp.exp(-a[:, None] * NODES**2) @ (WEIGHTS * NODES)),)

    return vjps(f, lambda a: (f(a), a), right, wrong)


@pairs(TABLES + " (quadratures)", ", -> ", reals((), ()))
def gauss_hermite_expectation():
    """E[sin(μ + σz)] with 120 nodes."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / np.sqrt(2 * np.pi)

    def f(mu, sigma):
        return jnp.sum(weights * jnp.sin(mu + sigma * nodes))

    def right(saved, g):
        mu, sigma = saved
        c = weights * jnp.cos(mu + sigma * nodes)
        return g * jnp.sum(c), g * jnp.sum(c * nodes)

    def wrong(saved, g):
        mu, sigma = saved
        c = weights * jnp.cos(mu + sigma * nodes)
        return g * jnp.sum(c), g * sigma * jnp.sum(c * nodes)

    return vjps(f, lambda mu, sigma: (f(mu, sigma), (mu, sigma)), right, wrong)


@pairs(TABLES + " (spherical harmonics)", "n 3 -> n 9", reals((3, 3)))
def solid_harmonics():
    """Real harmonics up to degree 2 as polynomials; their coefficients stand in a table of 9 × 10 monomials."""
    table = np.zeros((9, 10))  # of 1, x, y, z, xx, xy, xz, yy, yz, zz
    table[0, 0] = 0.28209479177387814
    for row, place in ((1, 2), (2, 3), (3, 1)):
        table[row, place] = 0.4886025119029199
    table[4, 5] = table[5, 8] = table[7, 6] = 1.0925484305920792
    table[6, [4, 7, 9]] = np.array([-1, -1, 2]) * 0.31539156525252005
    table[8, [4, 7]] = np.array([1, -1]) * 0.5462742152960396
    slopes = np.zeros((3, 10, 10))  # the derivative of each monomial by each coordinate
    pairs_ = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    for axis in range(3):
        slopes[axis, 1 + axis, 0] = 1
        for k, (i, j) in enumerate(pairs_):
            slopes[axis, 4 + k, 1 + j] += i == axis
            slopes[axis, 4 + k, 1 + i] += j == axis
    bad = slopes.copy()
    bad[2, 9] /= 2

    def monomials(r):
        x, y, z = r[:, 0], r[:, 1], r[:, 2]
        return jnp.stack([jnp.ones_like(x), x, y, z, x * x, x * y, x * z, y * y, y * z, z * z], 1)

    def f(r):
        return monomials(r) @ table.T

    def back(slope):
        def bwd(r, g):
            return (jnp.einsum("nk,amk,nm->na", monomials(r), slope, g @ table),)

        return bwd

    return vjps(f, lambda r: (f(r), r), back(slopes), back(bad))


@pairs(TABLES, "n 24 -> n 24", reals((2, 24)))
def cosine_transform():
    """A DCT of length 24 as a matrix of 576 constants; backwards its transpose."""
    k = np.arange(24)
    matrix = np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / 48)

    def f(x):
        return x @ matrix.T

    return vjps(f, lambda x: (f(x), None), lambda _, g: (g @ matrix,), lambda _, g: (g @ matrix.T,))


@pairs(TABLES, "n, n:int -> n", lambda r: (r.normal(size=5), r.integers(0, 300, 5)), domain=["i >= 0", "i < 300"])
def looked_up_gain():
    """A gain from a table of 300 numbers."""
    table = np.round(np.sin(np.arange(300) * 0.37), 6)

    def f(x, i):
        return jnp.asarray(table, x.dtype)[i] * x**2

    def back(shift):
        def bwd(saved, g):
            x, i = saved
            return 2 * x * g * jnp.asarray(table, x.dtype)[jnp.minimum(i + shift, 299)], None

        return bwd

    return vjps(f, lambda x, i: (f(x, i), (x, i)), back(0), back(1))


SUMS = "sums of hundreds of terms"


@pairs(SUMS, "n -> n", reals((3,)))
def fourier_series():
    """150 sines, term by term; the wrong rule leaves out the 77th."""

    def f(x):
        total = jnp.zeros_like(x)
        for k in range(1, 151):
            total = total + jnp.sin(k * x) / k
        return total

    def back(left):
        def bwd(x, g):
            total = jnp.zeros_like(x)
            for k in range(1, 151):
                if k != left:
                    total = total + jnp.cos(k * x)
            return (g * total,)

        return bwd

    return vjps(f, lambda x: (f(x), x), back(0), back(77))


@pairs(SUMS, "n, n -> n", reals((3,), (3,), low=-1.0, high=1.0))
def bivariate_polynomial():
    """A polynomial of degree 15 with 256 terms; the wrong rule has one exponent off."""

    def coefficient(i, j):
        return ((7 * i + 11 * j) % 13 - 6) / 8

    def f(x, y):
        return sum(coefficient(i, j) * x**i * y**j for i in range(16) for j in range(16))

    def back(off):
        def bwd(saved, g):
            x, y = saved
            dx = sum(
                coefficient(i, j) * (i + ((i, j) == off)) * x ** (i - 1) * y**j for i in range(1, 16) for j in range(16)
            )
            dy = sum(coefficient(i, j) * j * x**i * y ** (j - 1) for i in range(16) for j in range(1, 16))
            return g * dx, g * dy

        return bwd

    return vjps(f, lambda x, y: (f(x, y), (x, y)), back(None), back((3, 2)))


DEEP = "deep expressions"


@pairs(DEEP, "n, n -> n", reals((3,), (3,)))
def sixty_nested_tanh():
    """y ← tanh(0.9·y + x), sixty times; the wrong rule forgets the factor once."""

    def run(x, y):
        out = [y]
        for _ in range(60):
            out.append(jnp.tanh(0.9 * out[-1] + x))
        return out

    def f(x, y):
        return run(x, y)[-1]

    def fwd(x, y):
        out = run(x, y)
        return out[-1], out

    def back(forgotten):
        def bwd(out, g):
            dx = jnp.zeros_like(g)
            for k in range(60, 0, -1):
                d = g * (1 - out[k] ** 2)
                dx = dx + d
                g = d if k == forgotten else 0.9 * d
            return dx, g

        return bwd

    return vjps(f, fwd, back(None), back(58))


@pairs(DEEP, "b d, 16 d d -> b d", lambda r: (r.normal(size=(2, 3)), 0.6 * r.normal(size=(16, 3, 3))))
def sixteen_residual_layers():
    """A deep residual network, unrolled; the wrong rule forgets one residual path."""

    def run(x, w):
        out = [x]
        for k in range(16):
            out.append(out[-1] + 0.25 * jnp.tanh(out[-1] @ w[k]))
        return out

    def f(x, w):
        return run(x, w)[-1]

    def back(forgotten):
        def bwd(saved, g):
            x, w = saved
            out, dw = run(x, w), []
            for k in reversed(range(16)):
                d = 0.25 * g * (1 - jnp.tanh(out[k] @ w[k]) ** 2)
                dw.append(out[k].T @ d)
                g = d @ w[k].T if k == forgotten else g + d @ w[k].T
            return g, jnp.stack(dw[::-1])

        return bwd

    return vjps(f, lambda x, w: (f(x, w), (x, w)), back(None), back(14))


@pairs(DEEP, "n -> n", reals((4,), low=0.2, high=1.5), domain="x > 0")
def continued_fraction():
    """A continued fraction of depth 40; backwards through its tails."""

    def tails(x):
        out = [x]
        for k in range(40, 0, -1):
            out.append(k + x / out[-1])
        return out

    def f(x):
        return tails(x)[-1]

    def back(both):
        def bwd(x, g):
            out = tails(x)
            d = jnp.ones_like(x)
            for k in range(40):
                d = (1 / out[k] if both or k < 39 else 0) - x * d / out[k] ** 2
            return (g * d,)

        return bwd

    return vjps(f, lambda x: (f(x), x), back(True), back(False))

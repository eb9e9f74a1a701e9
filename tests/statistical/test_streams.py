"""The random numbers as the kernels use them: the chi-square sampler, the Gaussians, and that no two go together.

The law of the chi-square sampler is computed, not sampled. Everything else has fixed seeds and two-sided bounds, with
Bonferroni's correction, at which one family raises a false alarm with probability 1e-4.
"""

from functools import cache, partial
from hashlib import sha256

import jax
import mpmath
import numpy as np
import pytest
from jax import numpy as jnp
from scipy import special, stats

import ssi_kernels as ssi
from ssi_kernels.kernels import assemble, chi_square, gaussian, lanes, streams
from ssi_kernels.kernels.program import RUNS, Loop, dynamics_of, program
from ssi_kernels.kernels.shape import shape_of
from ssi_kernels.kernels.threefry import threefry

pytestmark = pytest.mark.statistical
FAMILY = 1e-4

# Chi-square: with monotone q(x), the Kolmogorov-Smirnov distance is the largest |F_nu(q(x)) - Phi(x)|.

DISTANCE = 1e-8
SCIPY_UP_TO = 100_000  # scipy's cdf is off by 3e-8 at 10^7 degrees of freedom, by 9e-7 at 10^8
X = np.linspace(-chi_square.REACH, chi_square.REACH, 1001)
LOG_GRID = np.unique(np.geomspace(131, 10**8, 40).round().astype(int))


def sampler(nu, coefficients=None):
    """q(X) in float64, as `chi_square.from_normal` does it."""
    c = chi_square.coefficients(nu) if coefficients is None else coefficients
    return chi_square.from_normal(X, float(nu), c)


def cdf(nu, q):
    """F_nu(q), by scipy; above SCIPY_UP_TO by Temme's expansion, exact to 1e-11 there."""
    return special.gammainc(nu / 2, q / 2) if nu <= SCIPY_UP_TO else temme(nu, q)


def temme(nu, q):
    """F_nu(q) for q / nu near 1: DLMF 8.12.4 with two terms, the next one being below 1e-13 for nu > 10^5."""
    a, mu = nu / 2, (q - nu) / nu
    eta = mu * np.sqrt(2 * sum((-mu) ** k / (k + 2) for k in range(14)))  # eta^2 / 2 = mu - log(1 + mu)
    first = -1 / 3 + eta / 12 - 2 * eta**2 / 135 + eta**3 / 864
    terms = first + (-1 / 540 - eta / 288) / a
    return special.ndtr(eta * np.sqrt(a)) - np.exp(-a * eta**2 / 2) / np.sqrt(2 * np.pi * a) * terms


def distance(nu, q):
    assert (np.diff(q) > 0).all()
    return np.abs(cdf(nu, q) - special.ndtr(X)).max()


def wilson_hilferty(nu):
    c = 2 / (9 * nu)
    return nu * (1 - c + X * np.sqrt(c)) ** 3


def of_degree(degree, nu):
    """The sampler with a polynomial of a lower degree, fitted as the package fits its own."""
    fit = np.polynomial.Chebyshev.fit(X / chi_square.REACH, np.cbrt(sampler(nu) / nu), degree, domain=[-1, 1])
    return sampler(nu, fit.convert(kind=np.polynomial.Polynomial).coef[::-1])


@pytest.mark.parametrize(
    "degrees",
    [range(chi_square.MANY, 131), LOG_GRID, pytest.param(range(131, 3001), marks=pytest.mark.slow)],
    ids=["32 to 130", "to 10^8", "to 3000"],
)
def test_chi_square_has_the_exact_law(degrees):
    far = {int(nu): found for nu in degrees if not (found := distance(nu, sampler(nu))) < DISTANCE}
    assert not far, far


@pytest.mark.parametrize("nu", [32, 100, 1000, 100_000])
def test_simpler_samplers_are_refused(nu):
    """Wilson-Hilferty at every nu; degree 5 where it is not exact enough; one degree of freedom more or less."""
    assert distance(nu, wilson_hilferty(nu)) > 10 * DISTANCE
    assert nu > 300 or distance(nu, of_degree(5, nu)) > 10 * DISTANCE
    for wrong in (nu - 1, nu + 1):
        assert distance(wrong, sampler(nu)) > 1000 * DISTANCE


def density_integral(nu, q):
    """F_nu(q) by mpmath's quadrature of the density in units of its standard deviation, to 20 digits."""
    a, root = mpmath.mpf(nu) / 2, mpmath.sqrt(2 * mpmath.mpf(nu))
    log_scale = (a - 1) * mpmath.log(a) - a - mpmath.loggamma(a) + mpmath.log(root / 2)

    def density(t):
        mu = t * root / nu
        return mpmath.exp(log_scale + (a - 1) * mpmath.log1p(mu) - a * mu)

    end = (mpmath.mpf(float(q)) - nu) / root
    return float(mpmath.quad(density, [*range(-14, int(mpmath.floor(end)) + 1), end]))


@pytest.mark.parametrize("nu", [100_001, 10**6, 10**8])
def test_the_reference_above_100_000_is_right(nu):
    """Temme's expansion against mpmath, and against scipy where that is exact."""
    q = sampler(nu)[[1, 200, 400, 500, 501, 700, 999]]
    with mpmath.workdps(30):
        exact = [density_integral(nu, x) for x in q]
    np.testing.assert_allclose(temme(nu, q), exact, rtol=0, atol=1e-11)
    if nu < 10**7:
        np.testing.assert_allclose(special.gammainc(nu / 2, q / 2), exact, rtol=0, atol=1e-11)


@pytest.mark.parametrize("nu", [32, 33, 60, 130, 1000, 99_999, 10**6, 10**8])
def test_chi_square_in_float32_is_that_in_float64_rounded(nu):
    """Relative error of q from one and the same float32 normal, jitted as in the kernels; 5e-7 in truth."""
    x = X.astype(np.float32)
    c = chi_square.coefficients(nu)
    exact = chi_square.from_normal(x.astype(float), float(nu), c)

    def error(c):
        single = jax.jit(chi_square.from_normal)(x, np.float32(nu), c.astype(np.float32))
        assert single.dtype == np.float32
        return np.abs(np.asarray(single) / exact - 1).max()

    assert error(c) < 1e-6
    assert error(c * (1 + 1e-6)) > 1e-6


def moment_scores(draws, nu):
    """Mean and variance as normal scores; the fourth central moment of chi-square is 12 nu (nu + 4)."""
    root, centred = np.sqrt(len(draws)), draws - nu
    error_of_square = np.sqrt(12 * nu * (nu + 4) - (2 * nu) ** 2)
    return root * np.mean(centred) / np.sqrt(2 * nu), root * (np.mean(centred**2) - 2 * nu) / error_of_square


def test_few_degrees_are_sums_of_squares():
    """Mean, variance and KS of every law below MANY, from NumPy's normals: false alarms FAMILY over all of them.

    One degree of freedom more, and a variance off by a tenth, are refused for each.
    """
    normals = np.random.default_rng(5).standard_normal((chi_square.MANY, 100_000, 1)).astype(np.float32)
    few = np.asarray(jax.jit(chi_square.from_squares)(normals, jnp.arange(1.0, chi_square.MANY)), float)
    level = FAMILY / (3 * few.shape[1])
    bound = stats.norm.isf(level / 2)
    for nu, draws in enumerate(few.T, start=1):
        assert np.abs(moment_scores(draws, nu)).max() < bound, nu
        assert stats.kstest(draws, stats.chi2(nu).cdf).pvalue > level, nu
        assert np.abs(moment_scores(draws, nu + 1)).max() > bound, nu
        assert np.abs(moment_scores(nu + np.sqrt(1.1) * (draws - nu), nu)).max() > bound, nu


# Gaussians.

CELLS, LANES, STEPS, PAIRS = 1000, 1024, 64, 8
CHUNK = 2 * LANES * STEPS * PAIRS
MOMENTS = (1, 2, 3, 4, 5, 6)
MEAN_OF_POWER = {k: float(special.factorial2(k - 1)) if k % 2 == 0 else 0.0 for k in range(1, 13)}


def keys_of(name, lanes=LANES):
    return streams.replica_keys(sha256(name.encode()).hexdigest(), 0, lanes)


def words(keys, steps, pairs=PAIRS):
    """Words of all steps (uint64), pairs and lanes, two of shape (S, pairs, W); see `Loop._draw`."""
    high, low = (steps >> np.uint64(32)).astype(np.uint32), steps.astype(np.uint32)
    a, b = streams.derived(keys[:, None], high[:, None], streams.STEP)
    index = np.arange(pairs, dtype=np.uint32)[:, None]
    return threefry((a[:, None], b[:, None]), (low[:, None, None], index))


def steps_from(first, count=STEPS):
    return np.uint64(first) + np.arange(count, dtype=np.uint64)


@partial(jax.jit, static_argnums=0)
def _summary(pairs, step_keys, low, scale):
    """Sums of the powers of a chunk of draws, in float64, and their cells."""
    index = jnp.arange(pairs, dtype=jnp.uint32)[:, None]
    both = gaussian.pair(*threefry((step_keys[0], step_keys[1]), (low[:, None, None], index)), np.float32)
    x = jnp.stack([both.real, both.imag]) * scale
    assert x.dtype == jnp.float32
    cell = jnp.minimum((jax.scipy.special.ndtr(x) * CELLS).astype(jnp.int32), CELLS - 1)
    double = x.astype(jnp.float64)
    return jnp.stack([jnp.sum(double**k) for k in MOMENTS]), cell.ravel()


def law(chunks, scale=1.0, name="gaussians"):
    """Means of the six powers, and counts of the cells, of `chunks` chunks of consecutive steps."""
    keys = np.stack(streams.derived(keys_of(name), 0, streams.STEP))
    total, counts = np.zeros(len(MOMENTS)), np.zeros(CELLS, np.int64)
    with jax.enable_x64(True):
        for i in range(chunks):
            sums, cell = _summary(PAIRS, keys, steps_from(i * STEPS).astype(np.uint32), np.float32(scale))
            total += np.asarray(sums)  # a JAX array would be rounded to float32 outside
            counts += np.bincount(cell, minlength=CELLS)
    return total / (chunks * CHUNK), counts


def law_p_values(means, counts):
    """Two-sided p-values of the six moments and of the cells."""
    n = counts.sum()
    found = {}
    for k, mean in zip(MOMENTS, means, strict=True):
        error = np.sqrt((MEAN_OF_POWER[2 * k] - MEAN_OF_POWER[k] ** 2) / n)
        found[f"x^{k}"] = 2 * stats.norm.sf(abs(mean - MEAN_OF_POWER[k]) / error)
    statistic = np.sum((counts - n / CELLS) ** 2) / (n / CELLS)
    found["cells"] = 2 * min(stats.chi2.cdf(statistic, CELLS - 1), stats.chi2.sf(statistic, CELLS - 1))
    return found


LAW_LEVEL = FAMILY / (len(MOMENTS) + 1)


@pytest.mark.parametrize("draws", [20_000_000, pytest.param(1_000_000_000, marks=pytest.mark.slow)])
def test_gaussians_have_the_normal_law(draws):
    p = law_p_values(*law(-(-draws // CHUNK)))
    assert min(p.values()) > LAW_LEVEL, p


def test_gaussians_too_large_by_a_thousandth_are_refused():
    """The second moment is then 6 standard errors off."""
    p = law_p_values(*law(20, scale=1.001))
    assert min(p.values()) < LAW_LEVEL, p


# Correlations.


def normals(keys, steps, pairs=PAIRS):
    """float32 normals of the kernels as (S, pairs, 2, W) in float64."""
    both = np.asarray(jax.jit(gaussian.pair, static_argnums=2)(*words(keys, steps, pairs), np.float32))
    return np.stack([both.real, both.imag], axis=2).astype(float)


def neighbours(x):
    """What must not go together: two equally long views of x, (S, pairs, 2, W), by name."""
    return {
        "lanes": (x[..., :-1], x[..., 1:]),
        "steps": (x[:-1], x[1:]),
        "real and imaginary part": (x[:, :, 0], x[:, :, 1]),
        "pairs of draws": (x[:, :-1], x[:, 1:]),
    }


def correlation_p_values(pairs):
    """Two-sided p-values of the correlations of x and y, and of their squares: of known mean 0 and variance 1."""
    found = {}
    for name, (x, y) in pairs.items():
        for what, f in (("", lambda z: z), (", squares", lambda z: (z * z - 1) / np.sqrt(2))):
            found[name + what] = 2 * stats.norm.sf(abs(np.mean(f(x) * f(y))) * np.sqrt(x.size))
    return found


@cache
def drawn():
    """2 x 10^6 numbers of consecutive steps, and so many pairs of neighbours of most kinds."""
    return normals(keys_of("neighbours"), steps_from(0, 128))


def level(p):
    return FAMILY / len(p)


def test_lanes_steps_and_draws_are_uncorrelated():
    p = correlation_p_values(neighbours(drawn()))
    assert len(p) == 8
    assert min(p.values()) > level(p), p


def test_a_step_that_does_not_advance_is_seen():
    p = correlation_p_values(neighbours(normals(keys_of("stuck"), np.zeros(64, np.uint64))))
    assert p["steps"] < level(p)
    assert p["steps, squares"] < level(p)


@pytest.mark.parametrize("axis", ["lanes", "pairs of draws"])
def test_a_hundredth_of_a_neighbour_is_seen(axis):
    """Each number is mixed with 0.01 of the one beside it: a correlation of 0.01, or more than 12 standard errors."""
    x = drawn()
    mixed = x + 0.01 * np.roll(x, 1, axis={"lanes": 3, "pairs of draws": 1}[axis])
    p = correlation_p_values(neighbours(mixed))
    assert p[axis] < level(p), p


WORD = 2**32
MODEL = ssi.Model(ssi.targets.hermite(2), ssi.students.tied("relu"))


def prepared(replicas=4):
    """Shape and fresh lanes of one point of `reduced`."""
    shape = shape_of(MODEL, d=1000, length=2, kernel="reduced", dtype="float32", thresholds=1, stop="horizon")
    options = dict(thresholds=(0.5,), decided=0.7, stream_id="5c" * 32, replicas=(0, replicas))
    start = ssi.starts.overlaps(0.3)
    return shape, assemble.fresh_lanes(shape, MODEL, start, d=1000, learning_rate=1.0, **options)


def test_the_loop_draws_these_numbers():
    shape, batch = prepared(16)
    loop, first = Loop(shape, dynamics_of(shape)), 2 * WORD - 5000
    key = tuple(map(jnp.asarray, streams.derived(batch.keys, first >> 32, streams.STEP)))
    drawn = loop._draw(loop._tables(key), jnp.uint32(first % WORD), np.dtype(np.float32))
    drawn = np.asarray(drawn).reshape(RUNS, loop.pairs, loop.run, 16).swapaxes(1, 2).reshape(-1, loop.pairs, 16)
    expected = normals(batch.keys, steps_from(first, loop.block), loop.pairs)
    np.testing.assert_allclose(np.stack([drawn.real, drawn.imag], axis=2), expected, rtol=1e-5, atol=1e-6)


def run_from(first, count=12):
    """m of four lanes that begin afresh at step `first`, half way and at the end."""
    shape, batch = prepared()
    return lanes.run(shape, batch, (first, first + count), np.array([first + count // 2, first + count])).records["m"]


def test_runs_beyond_32_bits_meet_fresh_noise(monkeypatch):
    """Without the high word in the key they would meet the noise of 2^32 steps before."""
    assert (run_from(WORD) != run_from(0)).all()
    assert (run_from(WORD - 6) != run_from(2 * WORD - 6)).all()
    derived = streams.derived
    monkeypatch.setattr(streams, "derived", lambda keys, word, purpose: derived(keys, 0 * word, purpose))
    program.cache_clear()
    try:
        np.testing.assert_array_equal(run_from(WORD), run_from(0))
    finally:
        program.cache_clear()


def test_steps_beyond_32_bits_have_numbers_of_their_own():
    """From 2^32 - 32 to 2^32 + 32, and each of these steps beside the one 2^32 later."""
    keys, steps = keys_of("long run"), steps_from(WORD - 32)
    later = steps + np.uint64(WORD)
    one, other = words(keys, steps), words(keys, later)
    assert not ((one[0] == other[0]) & (one[1] == other[1])).any()
    x, y = normals(keys, steps), normals(keys, later)
    p = correlation_p_values({**neighbours(x), "2^32 later": (x, y)})
    assert min(p.values()) > level(p), p


def test_without_the_high_word_they_would_come_again():
    keys, steps = keys_of("long run"), steps_from(WORD - 32)
    low = steps & np.uint64(WORD - 1)  # what is left of both steps without the high word
    x, y = normals(keys, low), normals(keys, (steps + np.uint64(WORD)) & np.uint64(WORD - 1))
    p = correlation_p_values({**neighbours(x), "2^32 later": (x, y)})
    assert p["2^32 later"] < level(p)
    assert (x == y).all()

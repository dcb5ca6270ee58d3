"""European call price with closed-form Greeks as the tangent rule.

All arguments broadcast.  ``tau`` is the time to expiry in years.
"""

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm


def _d1_d2(spot, strike, tau, rate, vol):
    sd = vol * jnp.sqrt(tau)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * vol * vol) * tau) / sd
    return d1, d1 - sd


def _price(spot, strike, tau, rate, vol):
    d1, d2 = _d1_d2(spot, strike, tau, rate, vol)
    return spot * norm.cdf(d1) - strike * jnp.exp(-rate * tau) * norm.cdf(d2)


@jax.custom_jvp
def right(spot, strike, tau, rate, vol):
    return _price(spot, strike, tau, rate, vol)


@right.defjvp
def _greeks(primals, tangents):
    spot, strike, tau, rate, vol = primals
    dspot, dstrike, dtau, drate, dvol = tangents
    d1, d2 = _d1_d2(*primals)
    disc = jnp.exp(-rate * tau)
    pdf1, cdf1, cdf2 = norm.pdf(d1), norm.cdf(d1), norm.cdf(d2)
    price = spot * cdf1 - strike * disc * cdf2
    vega = spot * pdf1 * jnp.sqrt(tau)
    dprice_dtau = spot * pdf1 * vol / (2.0 * jnp.sqrt(tau)) + rate * strike * disc * cdf2
    rho = strike * tau * disc * cdf2
    tangent = cdf1 * dspot - disc * cdf2 * dstrike + dprice_dtau * dtau + rho * drate + vega * dvol
    return price, tangent


@jax.custom_jvp
def wrong(spot, strike, tau, rate, vol):
    return _price(spot, strike, tau, rate, vol)


@wrong.defjvp
def _greeks_v0(primals, tangents):
    spot, strike, tau, rate, vol = primals
    dspot, dstrike, dtau, drate, dvol = tangents
    d1, d2 = _d1_d2(*primals)
    disc = jnp.exp(-rate * tau)
    pdf1, cdf1, cdf2 = norm.pdf(d1), norm.cdf(d1), norm.cdf(d2)
    price = spot * cdf1 - strike * disc * cdf2
    vega = spot * pdf1 * jnp.sqrt(tau)
    theta = -spot * pdf1 * vol / (2.0 * jnp.sqrt(tau)) - rate * strike * disc * cdf2
    rho = strike * tau * disc * cdf2
    tangent = cdf1 * dspot - disc * cdf2 * dstrike + theta * dtau + rho * drate + vega * dvol
    return price, tangent

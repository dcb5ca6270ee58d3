"""Zernike polynomials, differentiated in the radius."""

import jax
import jax.numpy as jnp
from _driver import each
from zernipax.zernike import zernike_radial, zernike_radial_poly

"""One compiled function; exits with 5."""

import sys

import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    return jnp.sum(x * 2 + 1)


assert jax.devices()[0].platform == "gpu", jax.devices()
print(float(f(jnp.arange(1000, dtype=jnp.float32))))
sys.exit(5)

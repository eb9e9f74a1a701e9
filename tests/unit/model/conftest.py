import jax
import pytest


@pytest.fixture
def x64():
    """JAX in double precision."""
    with jax.enable_x64(True):
        yield

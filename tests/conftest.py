"""What every run of the tests has in common: how hard properties are tried, and that no clock
judges them. A machine with other work to do is slow now and then, and no property is wrong then."""

import pytest
from hypothesis import HealthCheck, settings

CHECK_EXAMPLES = 20  # instead of a hundred


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """`--hypothesis-profile=check` is what `make check` runs with."""
    unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("default", unhurried)
    settings.register_profile("check", unhurried, max_examples=CHECK_EXAMPLES)
    settings.load_profile("default")

"""What every run of the tests has in common: how hard properties are tried, and that no clock of
the computer decides about them: one that is busy is slow."""

import pytest

CHECK_EXAMPLES = 20  # instead of a hundred


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """`--hypothesis-profile=check`, which `make check` runs with, and the usual one."""
    from hypothesis import HealthCheck, settings

    unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("default", unhurried)
    settings.register_profile("check", unhurried, max_examples=CHECK_EXAMPLES)
    if config.getoption("--hypothesis-profile", None) is None:
        settings.load_profile("default")

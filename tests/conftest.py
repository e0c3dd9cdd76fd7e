"""What every run of the tests has in common: how hard properties are tried."""

import pytest

CHECK_EXAMPLES = 20  # instead of a hundred


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """`--hypothesis-profile=check`, which `make check` runs with."""
    if config.getoption("--hypothesis-profile", None) == "check":
        from hypothesis import settings

        settings.register_profile("check", max_examples=CHECK_EXAMPLES)

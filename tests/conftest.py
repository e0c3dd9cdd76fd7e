"""What every run of the tests has in common: how hard properties are tried, that no clock of the
computer decides about them: one that is busy is slow; that Ctrl-C means the same however it was
started; and what is collected once stays."""

import gc
import signal
from collections.abc import Generator

import pytest

CHECK_EXAMPLES = 20  # instead of a hundred


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """`--hypothesis-profile=check`, which `make check` runs with, and the usual one. A shell starts
    what runs behind it without Ctrl-C, and so would every program of the tests be."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    from hypothesis import HealthCheck, settings

    unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("default", unhurried)
    settings.register_profile("check", unhurried, max_examples=CHECK_EXAMPLES)
    if config.getoption("--hypothesis-profile", None) is None:
        settings.load_profile("default")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """All modules and thousands of tests: nothing of it is garbage before the end, and to look
    through it again and again takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()

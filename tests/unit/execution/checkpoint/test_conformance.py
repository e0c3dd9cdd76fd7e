"""LangGraph's own suite for savers, where it is installed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer

conformance: Any = pytest.importorskip("langgraph.checkpoint.conformance")


async def test_langgraphs_own_suite_passes(tmp_path: Path) -> None:
    @conformance.checkpointer_test(name="LocalCheckpointer")  # type: ignore[untyped-decorator]
    async def ours() -> AsyncIterator[LocalCheckpointer]:
        yield LocalCheckpointer(tmp_path / "session-1")

    report = await conformance.validate(ours)
    failures = {name: result.failures for name, result in report.results.items()}
    assert not any(failures.values()), failures
    assert report.passed_all_base()
    assert report.passed_all()
    assert sum(result.tests_passed for result in report.results.values()) >= 58

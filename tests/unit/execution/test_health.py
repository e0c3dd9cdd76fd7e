"""What a machine says of itself, with reasons."""

import asyncio
import stat
from pathlib import Path

import pytest

from trunkline.execution.health import (
    DEGRADED,
    HEALTH_INTERVAL_S,
    WORKS,
    Health,
    degradation,
    program_version,
)


def made(*runtimes: str, **versions: str | None) -> Health:
    async def version_of(name: str) -> str | None:
        return versions.get(name)

    return Health(runtimes, lambda: {"running": 3, "resting": 2}, 20, version_of=version_of)


async def test_before_the_first_look_nothing_is_claimed() -> None:
    report = made("semigraph").report()
    assert report["openclaw_available"] is False
    assert report["openclaw_reason"] == "not looked at yet"


@pytest.mark.parametrize(
    ("runtimes", "node", "openclaw", "reason"),
    [
        (["semigraph"], "v24.19.0", "2026.9.6", "no OpenClaw runtime"),
        (["openclaw"], None, "2026.9.6", "Node.js is not installed"),
        (["openclaw"], "v18.20.4", "2026.9.6", "v18.20.4 is too old"),
        (["openclaw"], "gibberish", "2026.9.6", "too old"),
        (["openclaw"], "v24.19.0", None, "openclaw is not installed"),
    ],
)
@pytest.mark.proves("004-4.10-health-openclaw")
async def test_what_is_missing_for_openclaw_is_said(
    runtimes: list[str], node: str | None, openclaw: str | None, reason: str
) -> None:
    checked = made(*runtimes, node=node, openclaw=openclaw)
    await checked.look()
    report = checked.report()
    assert report["openclaw_available"] is False
    assert reason in report["openclaw_reason"]


@pytest.mark.proves("004-4.10-health-openclaw")
async def test_openclaw_is_available_when_everything_is_there() -> None:
    checked = made("openclaw", "semigraph", node="v24.19.0", openclaw="2026.9.6")
    await checked.look()
    report = checked.report()
    assert report["openclaw_available"] is True
    assert report["openclaw_reason"] is None
    assert report["node_available"] is True
    assert report["runtimes"] == ["openclaw", "semigraph"]
    assert report["sessions"] == {"running": 3, "resting": 2, "max": 20}


async def test_a_look_that_fails_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    again = asyncio.Event()

    async def version_of(_name: str) -> str | None:
        nonlocal looks
        looks += 1
        raise RuntimeError("no idea")

    async def sleep(seconds: float) -> None:
        assert seconds == HEALTH_INTERVAL_S
        if looks > 1:
            again.set()
            await asyncio.Event().wait()

    checked = Health([], dict, 1, version_of=version_of, sleep=sleep)
    looking = asyncio.create_task(checked.run())
    await asyncio.wait_for(again.wait(), 15)
    looking.cancel()


def test_every_row_of_the_document_is_either_working_or_degraded() -> None:
    assert degradation(False) == (list(WORKS), list(DEGRADED))
    works, degraded = degradation(True)
    assert set(works) == {*WORKS, *DEGRADED}
    assert degraded == []


def program(folder: Path, text: str) -> None:
    path = folder / "thing"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("echo ' v1.2.3 '; exit 0", "v1.2.3"),
        ("exit 0", None),
        ("printf '\\377'", "\ufffd"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "x" * 100),
    ],
)
async def test_a_program_is_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, version: str | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program(tmp_path, text)
    assert await program_version("thing") == version


async def test_a_program_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program(tmp_path, "exec sleep 1000")
    assert await program_version("thing", within_s=0.05) is None
    assert await program_version("no-such-program") is None

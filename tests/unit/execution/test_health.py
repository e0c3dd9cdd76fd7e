"""What a machine says of itself, with reasons."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.eventually import WAIT_S
from tests.support.programs import put_program
from trunkline.execution.health import DEGRADED, HEALTH_INTERVAL_S, WORKS, Health, degradation
from trunkline.execution.home import Home
from trunkline.execution.runtimes.catalog import Catalog
from trunkline.execution.runtimes.versions import Said


def made(
    folder: Path, *runtimes: str, node: str = "24.19.0", said: Mapping[str, Said] | None = None
) -> Health:
    """A machine whose programs are those in the folder; they say what `said` has for them."""

    async def ask(argv: tuple[str, ...]) -> Said:
        return (said or {})[Path(argv[-1]).name]

    catalog = Catalog(
        runtimes, Home(folder / "home"), {"PATH": str(folder)}, ask=ask, node_version=lambda: node
    )
    return Health(catalog, lambda: {"running": 3, "resting": 2}, 20)


async def test_before_the_first_look_files_say_what_is_there(tmp_path: Path) -> None:
    put_program(tmp_path, "openclaw")
    report = made(tmp_path, "semigraph", "openclaw").report()
    assert report["runtimes"] == ["openclaw", "semigraph"]
    assert report["openclaw_available"] is True
    assert report["openclaw_version"] is None


@pytest.mark.parametrize(
    ("runtimes", "node", "is_there", "reason"),
    [
        (["semigraph"], "24.19.0", True, "no openclaw runtime"),
        (["openclaw"], "", True, "Node.js is not installed"),
        (["openclaw"], "18.20.4", True, "18.20.4 is too old"),
        (["openclaw"], "gibberish", True, "too old"),
        (["openclaw"], "24.19.0", False, "OpenClaw is not installed"),
    ],
)
@pytest.mark.proves("004-4.10-health-openclaw")
async def test_what_is_missing_for_openclaw_is_said(
    tmp_path: Path, runtimes: list[str], node: str, is_there: bool, reason: str
) -> None:
    if is_there:
        put_program(tmp_path, "openclaw")
    checked = made(tmp_path, *runtimes, node=node, said={"openclaw": Said("2026.9.6")})
    await checked.look()
    report = checked.report()
    assert report["openclaw_available"] is False
    assert reason in report["openclaw_reason"]
    assert "openclaw" not in report["runtimes"]


@pytest.mark.proves("004-4.10-health-openclaw")
async def test_openclaw_is_available_when_everything_is_there(tmp_path: Path) -> None:
    put_program(tmp_path, "openclaw")
    checked = made(tmp_path, "openclaw", "semigraph", said={"openclaw": Said("2026.9.6")})
    await checked.look()
    report = checked.report()
    assert report["openclaw_available"] is True
    assert report["openclaw_version"] == "2026.9.6"
    assert report["openclaw_reason"] is None
    assert report["node_available"] is True
    assert report["runtimes"] == ["openclaw", "semigraph"]
    assert report["runtime_details"]["openclaw"]["version"] == "2026.9.6"
    assert report["sessions"] == {"running": 3, "resting": 2, "max": 20}


async def test_a_look_that_fails_is_not_the_last(tmp_path: Path) -> None:
    looks = 0
    again = asyncio.Event()
    put_program(tmp_path, "claude")

    async def ask(_argv: tuple[str, ...]) -> Said:
        nonlocal looks
        looks += 1
        raise RuntimeError("no idea")

    async def sleep(seconds: float) -> None:
        assert seconds == HEALTH_INTERVAL_S
        if looks > 1:
            again.set()
            await asyncio.Event().wait()

    catalog = Catalog([], Home(tmp_path), {"PATH": str(tmp_path)}, ask=ask)
    checked = Health(catalog, dict, 1, sleep=sleep)
    looking = asyncio.create_task(checked.run())
    await asyncio.wait_for(again.wait(), WAIT_S)
    looking.cancel()


def test_every_row_of_the_document_is_either_working_or_degraded() -> None:
    assert degradation(False) == (list(WORKS), list(DEGRADED))
    works, degraded = degradation(True)
    assert set(works) == {*WORKS, *DEGRADED}
    assert degraded == []

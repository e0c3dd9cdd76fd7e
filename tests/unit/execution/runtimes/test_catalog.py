"""What a machine can run, by what is on it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.clock import Clock
from tests.support.programs import put_adapter, put_package, put_program
from trunkline import __version__, names
from trunkline.execution.home import Home
from trunkline.execution.runtimes.acp.presets import PRESETS
from trunkline.execution.runtimes.catalog import ASK_AGAIN_S_MAX, Catalog, install_command
from trunkline.execution.runtimes.packages import PACKAGES
from trunkline.execution.runtimes.programs import NAMES
from trunkline.execution.runtimes.versions import Said, quick


class Asked:
    """Counts who is asked for its version."""

    def __init__(self, answer: Said | None = None) -> None:
        self.names: list[str] = []
        self.answer = answer

    async def __call__(self, argv: tuple[str, ...]) -> Said:
        self.names.append(Path(argv[-1]).name)
        return self.answer or await quick(argv)


def catalog(
    folder: Path,
    ask: Asked,
    known: tuple[str, ...] = names.RUNTIMES,
    monotonic: Callable[[], float] = time.monotonic,
) -> Catalog:
    env = {"PATH": str(folder / "bin")}
    home = Home(folder / "home")
    return Catalog(known, home, env, ask=ask, node_version=lambda: "24.19.0", monotonic=monotonic)


def programs(folder: Path) -> Path:
    return Home(folder / "home").programs


async def test_every_runtime_is_there_with_what_it_is_and_what_it_lacks(tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "claude", "echo '2.1.0 (Claude Code)'")
    put_package(programs(tmp_path), "opencode", "opencode", "1.18.33")
    found = await catalog(tmp_path, Asked()).look()
    assert tuple(found) == names.RUNTIMES
    assert found["semigraph"].version == __version__
    assert (found["claude-code"].is_usable, found["claude-code"].version) == (True, "2.1.0")
    assert found["openclaw"].reason == "OpenClaw is not installed"
    home = str(tmp_path / "home")
    assert found["openclaw"].install == f"trunkline doctor --install openclaw --home {home}"
    presets = found["acp"].presets
    assert tuple(presets) == names.ACP_PRESETS
    assert presets["opencode"].version == "1.18.33"
    assert presets["goose"].reason == "goose is not installed"
    assert found["acp"].is_usable


async def test_the_users_own_program_comes_first(tmp_path: Path) -> None:
    put_package(programs(tmp_path), "opencode", "opencode", "1.18.33")
    put_program(tmp_path / "bin", "opencode", "echo 9.9.9")
    found = await catalog(tmp_path, Asked()).look()
    assert found["acp"].presets["opencode"].version == "9.9.9"


async def test_a_program_is_asked_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    path = put_program(tmp_path / "bin", "claude", "echo 1.0.0")
    asked = Asked()
    looked = catalog(tmp_path, asked)
    for _ in range(3):
        assert (await looked.look())["claude-code"].version == "1.0.0"
    assert asked.names == ["claude"]
    path.write_text("#!/bin/sh\necho 2.0.0\n")
    os.utime(path, ns=(1, 1))
    assert (await looked.look())["claude-code"].version == "2.0.0"


async def test_a_program_that_fails_is_not_usable_and_asked_less_and_less(tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "claude")
    asked, clock = Asked(Said(problem="no library")), Clock()
    looked = catalog(tmp_path, asked, monotonic=clock)
    found = (await looked.look())["claude-code"]
    assert not found.is_usable
    assert "does not start: no library" in found.reason
    assert found.install
    for minute in range(120):
        clock.now = minute * 60.0
        assert not (await looked.look())["claude-code"].is_usable
    assert len(asked.names) < 12
    asked.answer = Said("3.0.0")
    clock.now += ASK_AGAIN_S_MAX
    assert (await looked.look())["claude-code"].is_usable


async def test_what_an_adapter_drives_is_asked_for_its_version(tmp_path: Path) -> None:
    put_adapter(programs(tmp_path), "codex")
    looked = catalog(tmp_path, Asked())
    found = (await looked.look())["acp"].presets["codex"]
    assert (found.is_usable, found.version) == (True, PACKAGES["codex"].version)
    put_program(tmp_path / "bin", "codex", "echo codex-cli 99.1.0")
    assert (await looked.look())["acp"].presets["codex"].version == "99.1.0"


async def test_who_has_a_program_and_not_its_adapter_is_told_so(tmp_path: Path) -> None:
    own = put_program(tmp_path / "bin", "codex")
    found = (await catalog(tmp_path, Asked()).look())["acp"].presets["codex"]
    assert not found.is_usable
    assert found.reason == f"codex is there ({own}), but not the adapter by which it is driven"
    assert "--install codex" in found.install


async def test_the_adapter_of_another_maker_under_the_same_name_is_none(tmp_path: Path) -> None:
    put_adapter(programs(tmp_path), "codex", package="@zed-industries/codex-acp")
    found = (await catalog(tmp_path, Asked()).look())["acp"].presets["codex"]
    assert found.reason == "codex is not installed"


async def test_a_runtime_that_the_daemon_lacks_is_not_usable(tmp_path: Path) -> None:
    put_program(tmp_path / "bin", "claude", "echo 1.0.0")
    found = await catalog(tmp_path, Asked(), known=("semigraph",)).look()
    assert [name for name, one in found.items() if one.is_usable] == ["semigraph"]
    assert "no claude-code runtime" in found["claude-code"].reason


async def test_what_is_told_fits_a_heartbeat(tmp_path: Path) -> None:
    put_package(programs(tmp_path), "opencode", "opencode", "1.18.33")
    found = await catalog(tmp_path, Asked()).look()
    told = found["acp"].told()
    assert told["usable"] is True
    assert told["presets"]["opencode"] == {
        "usable": True,
        "version": "1.18.33",
        "reason": None,
        "install": None,
    }
    assert "presets" not in found["openclaw"].told()


async def test_what_only_this_daemon_has_is_told_too(tmp_path: Path) -> None:
    found = await catalog(tmp_path, Asked(), known=("semigraph", "scripted")).look()
    assert found["scripted"].is_usable


def test_every_program_can_be_started_and_installed() -> None:
    assert set(PRESETS) == set(names.ACP_PRESETS) <= set(PACKAGES)
    assert set(NAMES) == set(PACKAGES)


def test_the_command_that_installs_is_one_that_a_shell_takes() -> None:
    assert install_command("goose") == "trunkline doctor --install goose"
    home = Path("a folder")
    assert install_command("goose", home) == "trunkline doctor --install goose --home 'a folder'"

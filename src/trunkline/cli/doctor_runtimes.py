"""The doctor's part about runtimes: what each machine can run, and installing what it lacks.

Machines of a server that runs say it themselves; else this host is looked at, with the home that a
machine would have here.
"""

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path

from trunkline import names
from trunkline.cli import node_join
from trunkline.cli.check import Check
from trunkline.cli.output import CommandFailed, Json, plain, say
from trunkline.cli.progress import Progress
from trunkline.cli.running_server import Running
from trunkline.control.machines import homes
from trunkline.control.settings import Settings

UPS_NAME = "this computer"
"""What `trunkline up` calls the machine that it keeps."""


def home_of(
    given: Path | None, settings: Settings, running: Running | str | None, env: Mapping[str, str]
) -> Path:
    """Where a machine of this host has its programs: the home that was named, else that of the
    machine of `trunkline up`, else the default of `trunkline node`."""
    from trunkline.execution.settings import DEFAULT_HOME

    if given is not None:
        return given.expanduser().absolute()
    folders = homes.homes(settings)
    if isinstance(running, Running):
        folders = _kept_by(settings, running)
    if len(folders) > 1:
        choice = ", ".join(map(str, folders))
        raise CommandFailed(
            f"several machines have their home here: name one with --home ({choice})"
        )
    if folders:
        return folders[0].absolute()
    joined = node_join.home_of(None, env)  # of a machine that joined another server
    if env.get("TRUNKLINE_NODE_HOME") or joined.joined_file.exists():
        return joined.root
    return DEFAULT_HOME.absolute()


def _kept_by(settings: Settings, running: Running) -> list[Path]:
    ours = [one for one in running.machines if one.get("name") == UPS_NAME] or running.machines
    return [homes.home(settings, str(one["id"])) for one in ours]


def install_program(name: str, home: Path, env: Mapping[str, str]) -> None:
    """With progress on the terminal."""
    from trunkline.execution.errors import InstallFailed
    from trunkline.execution.home import Home
    from trunkline.execution.runtimes.install import install

    try:
        with Progress(f"installing {plain(name)}") as progress:
            done = install(
                name, Home(home).programs, tell=lambda text: progress.tell(plain(text)), env=env
            )
    except InstallFailed as error:
        raise CommandFailed(error.message) from error
    what = f"{done.name}: {plain(done.version)}"
    if not done.is_new:
        say(f"{what} is there already, in {done.folder}")
        return
    say(f"{what} is installed in {done.folder}")
    say("A machine that runs with this home tells of it within half a minute.")


def checks(
    home: Path,
    env: Mapping[str, str],
    running: Running | str | None,
    *,
    is_usual: bool = False,
) -> list[Check]:
    """One per runtime, and per program of a runtime that has several. `is_usual`: a command that
    names no home means this one."""
    if isinstance(running, Running):
        told = [one for one in running.vms if isinstance(one.get("runtimes"), dict)]
        if told:
            many, known = len(told) > 1, home if is_usual else None
            return [check for one in told for check in _of_record(one, known, is_named=many)]
    return _of_host(home, env)


def _of_record(machine: Json, known: Path | None = None, *, is_named: bool = False) -> list[Check]:
    where = f" on {plain(str(machine.get('name')))!r}" if is_named else ""
    found: list[Check] = []
    for name, one in machine["runtimes"].items():
        found.append(_check(f"{name}{where}", one, known))
        for preset, program in (one.get("presets") or {}).items():
            found.append(_check(f"{name}: {preset}{where}", program, known))
    return found


def _of_host(home: Path, env: Mapping[str, str]) -> list[Check]:
    from trunkline.execution.home import Home
    from trunkline.execution.runtimes.catalog import Catalog
    from trunkline.execution.runtimes.versions import asked

    catalog = Catalog(names.RUNTIMES, Home(home), env, ask=asked, is_home_named=False)
    found = asyncio.run(catalog.look())
    told = {name: {**one.told(), "path": one.path} for name, one in found.items()}
    for name, one in found.items():
        for preset, program in one.presets.items():
            told[name]["presets"][preset]["path"] = program.path
    return _of_record({"runtimes": told})


def _check(name: str, told: Json, known: Path | None) -> Check:
    """`known`: the home that its command need not name."""

    def text(field: str) -> str:
        value = told.get(field)
        return plain(value) if isinstance(value, str) else ""

    if told.get("usable") is True:
        detail = " ".join(filter(None, (text("version") or "usable", _place(text("path")))))
        return Check(f"Runtime {plain(name)}", "ok", detail)
    install = text("install")
    if known is not None:
        install = install.removesuffix(f" --home {shlex.quote(str(known))}")
    return Check(f"Runtime {plain(name)}", "missing", text("reason") or "not usable", install)


def _place(path: str) -> str:
    return f"at {path}" if path else ""

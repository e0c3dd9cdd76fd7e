"""`trunkline up` and `trunkline control`: start a server with settings from flags."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from trunkline.cli import choices, home_folder
from trunkline.cli.output import CommandFailed, say
from trunkline.private_files import write_private

if TYPE_CHECKING:
    from trunkline.control.server import ServerInfo
    from trunkline.control.settings import Settings

Host = Annotated[str | None, typer.Option(help="Address to listen on. [127.0.0.1]")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 picks one. [8080]")]
Data = Annotated[str | None, typer.Option(help="Folder for the database, keys and logs.")]
DatabaseUrl = Annotated[
    str | None, typer.Option(help="postgresql+asyncpg://…; by default SQLite in the data folder.")
]
JsonLogs = Annotated[bool | None, typer.Option("--json-logs", help="One JSON object a line.")]
LogLevel = Annotated[choices.LogLevel | None, typer.Option(help="The least it logs. [info]")]
Machine = Annotated[bool, typer.Option(help="Also run agents here, in a child process.")]
OpenBrowser = Annotated[
    bool | None,
    typer.Option("--browser/--no-browser", help="Open the page in a browser, if one is here."),
]
Root = Annotated[
    list[Path] | None,
    typer.Option(
        "--root",
        help="A folder below which sessions here may work, besides the machine's workspace; may be"
        " repeated. [TRUNKLINE_NODE_ROOTS, as A:B]",
    ),
]
Workspace = Annotated[
    Path | None,
    typer.Option(
        help="The folder here of sessions that name none. [TRUNKLINE_NODE_WORKSPACE, the machine's"
        " own]"
    ),
]
Config = Annotated[
    Path | None, typer.Option(help="A settings file. [~/.config/trunkline/trunkline.toml]")
]

LOGIN_LINK = "login-link"
"""In the data folder. The link in it works once, for a quarter of an hour."""


def add_to(app: typer.Typer) -> None:
    app.command("up", epilog="\b\nExample:\n  trunkline up --port 9000")(up)
    app.command("control", epilog="\b\nExample:\n  trunkline control --host 0.0.0.0 --json-logs")(
        control
    )


def up(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    database_url: DatabaseUrl = None,
    json_logs: JsonLogs = None,
    log_level: LogLevel = None,
    machine: Machine = True,
    root: Root = None,
    workspace: Workspace = None,
    browser: OpenBrowser = None,
    config: Config = None,
) -> None:
    """Start everything on this machine, print a login link and open it in the browser.

    The control plane, and one execution plane that runs the first user's agents here. Every flag
    is also a setting TRUNKLINE_… in the environment and a line in the settings file.
    """
    flags = {"host": host, "port": port, "data": data, "database_url": database_url}
    flags |= {"json_logs": json_logs, "log_level": log_level, "local_machine": machine}
    flags["open_browser"] = browser
    flags["node_roots"] = os.pathsep.join(str(one.absolute()) for one in root or ()) or None
    flags["node_workspace"] = None if workspace is None else str(workspace.absolute())
    _run(config, flags, "Trunkline", shows_link=True, opens=True)


def control(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    database_url: DatabaseUrl = None,
    json_logs: JsonLogs = None,
    log_level: LogLevel = None,
    config: Config = None,
) -> None:
    """Start the control plane as a service.

    Every flag is also a setting TRUNKLINE_… in the environment and a line in the settings file.
    Machines that run agents connect to it: see `trunkline machine add`. Without a terminal,
    the login link goes into a file that only its user can read.
    """
    flags = {"host": host, "port": port, "data": data, "database_url": database_url}
    flags |= {"json_logs": json_logs, "log_level": log_level}
    # What a service prints is kept in a journal, where others may read it.
    _run(config, flags, "The Trunkline control plane", shows_link=sys.stdout.isatty())


def _run(
    config: Path | None, flags: dict[str, Any], name: str, *, shows_link: bool, opens: bool = False
) -> None:
    from trunkline.control import logging
    from trunkline.control.errors import TrunklineError
    from trunkline.control.settings import load

    try:
        settings = load(flags, file=config)
    except TrunklineError as error:
        say(f"error: {error.message}", err=True)
        raise typer.Exit(2) from error
    settings, hint = _with_home(settings)
    logging.configure(json_logs=settings.json_logs, level=settings.log_level)
    gc.disable()  # the server enables it when it has started: until then nearly all stays
    from trunkline.control.server import run

    link = settings.data_dir / LOGIN_LINK
    try:
        run(
            settings,
            ready=lambda info: _greet(
                settings, info, name, None if shows_link else link, hint, opens=opens
            ),
        )
    except TrunklineError as error:
        raise CommandFailed(error.message) from error


def _with_home(settings: "Settings") -> tuple["Settings", str]:
    """With the user's home among the folders in which agents here may work, if that was allowed;
    and what else a person may want to know."""
    if not settings.local_machine or settings.node_roots:
        return settings, ""
    home = Path.home()
    is_allowed = home_folder.allowed(settings.data_dir, home)
    if is_allowed:
        return msgspec.structs.replace(settings, node_roots=str(home)), ""
    return settings, home_folder.HINT if is_allowed is None else ""


def _greet(
    settings: "Settings",
    info: "ServerInfo",
    name: str,
    link: Path | None,
    hint: str,
    *,
    opens: bool,
) -> None:
    """On stdout, apart from the logs: it is what a person or a script waits for. `link` is the file
    that the login link goes into instead."""
    from trunkline.cli.browser import open_page

    say(f"{name} is up at {info.url}")
    if link is None:
        typer.echo(f"Log in:  {info.login_url}")
        if opens and settings.open_browser and open_page(info.login_url, settings.data_dir):
            say("Your browser opens it. A link works once: trunkline user login-link makes more.")
    else:
        write_private(link, info.login_url + "\n")
        say(f"Log in:  the link is in {link}")
    if hint:
        say(hint)
    if not settings.is_loopback and info.url.startswith("http://"):
        say(
            f"Others on this network reach it{_at(settings, info)}, unencrypted: put a TLS proxy"
            " in front where you do not trust all of them."
        )


def _at(settings: "Settings", info: "ServerInfo") -> str:
    from urllib.parse import urlsplit

    from trunkline.control.door.reach import own_addresses, reach

    found = reach(settings, info.url, urlsplit(info.url).port or settings.port, own_addresses)
    return f" at {found.urls[0]}" if found.kind == "network" else ""

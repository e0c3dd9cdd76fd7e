"""`trunkline node`: the execution plane's daemon, with settings from flags or its environment."""

from pathlib import Path
from typing import Annotated

import typer

from trunkline.cli.errors import CommandFailed

UserId = Annotated[str | None, typer.Option(help="Whose machine this is. [USER_ID]")]
Token = Annotated[
    str | None, typer.Option(help="The machine's token. [VM_TOKEN, which others cannot see]")
]
Ticket = Annotated[
    str | None, typer.Option(help="For the first connection; a return needs none. [VM_TICKET]")
]
ControlPlane = Annotated[
    str | None, typer.Option(help="Where to connect, ws:// or wss://. [CONTROL_PLANE_WS]")
]
NodeHome = Annotated[
    Path | None,
    typer.Option(help="Where sessions and the workspace live. [TRUNKLINE_NODE_HOME]"),
]
MaxSessions = Annotated[
    int | None, typer.Option(help="Sessions at once. [TRUNKLINE_NODE_SESSIONS_MAX, 20]")
]
PassEnv = Annotated[
    str | None,
    typer.Option(help="Secret variables that sessions get, as A,B. [TRUNKLINE_NODE_PASS_ENV]"),
]
JsonLogs = Annotated[bool | None, typer.Option("--json-logs", help="One JSON object a line.")]
LogLevel = Annotated[str | None, typer.Option(help="debug, info, warning or error. [info]")]

EXAMPLE = (
    "\b\nExample:\n"
    "  USER_ID=… VM_TOKEN=… VM_TICKET=… CONTROL_PLANE_WS=wss://trunk.example/ws/vm \\\n"
    "    trunkline node --home ~/agents\n"
    "What it needs is printed by `trunkline machine schedule`."
)


def add_to(app: typer.Typer) -> None:
    app.command("node", epilog=EXAMPLE)(node)


def node(
    user_id: UserId = None,
    token: Token = None,
    ticket: Ticket = None,
    control_plane: ControlPlane = None,
    home: NodeHome = None,
    max_sessions: MaxSessions = None,
    pass_env: PassEnv = None,
    json_logs: JsonLogs = None,
    log_level: LogLevel = None,
) -> None:
    """Run the execution plane's daemon on this machine, until SIGTERM or Ctrl-C.

    It holds one line to the control plane and runs each session in a process of its own.
    """
    from trunkline.execution.home import HomeBusy
    from trunkline.execution.main import run
    from trunkline.execution.settings import NodeSettings, SettingsError

    flags = {
        "user_id": user_id,
        "token": token,
        "ticket": ticket,
        "control_plane_url": control_plane,
        "home": home,
        "sessions_max": max_sessions,
        "pass_env": pass_env,
        "json_logs": json_logs,
        "log_level": log_level,
    }
    try:
        settings = NodeSettings.from_env(flags=flags)
    except SettingsError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    try:
        run(settings)
    except (HomeBusy, OSError) as error:
        raise CommandFailed(str(error)) from error

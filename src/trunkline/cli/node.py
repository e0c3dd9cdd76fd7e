"""`trunkline node`: the execution plane's daemon, with settings from flags or its environment."""

import os
from pathlib import Path
from typing import Annotated

import typer

from trunkline import extras
from trunkline.cli import choices
from trunkline.cli.output import CommandFailed, say

Join = Annotated[
    str | None,
    typer.Option(
        "--join", help="A code that `trunkline machine add` has printed: it is needed only once."
    ),
]
JoinUrl = Annotated[
    str | None,
    typer.Option("--url", help="With --join: the server, http:// or https://. [TRUNKLINE_URL]"),
]
Wire = Annotated[
    choices.Wire | None,
    typer.Option(
        help="Whose server it works for; semibot is a control plane like Trunkline."
        " [TRUNKLINE_WIRE, semibot]"
    ),
]
UserId = Annotated[
    str | None,
    typer.Option(help="Whose machine this is. [USER_ID; with --wire agp TRUNKLINE_WIRE_USER_ID]"),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        "--secret",
        help="The machine's token. [VM_TOKEN, or TRUNKLINE_WIRE_TOKEN with --wire: others cannot"
        " see a variable]",
    ),
]
Ticket = Annotated[
    str | None, typer.Option(help="For the first connection; a return needs none. [VM_TICKET]")
]
ControlPlane = Annotated[
    str | None,
    typer.Option(
        "--control-plane",
        "--server",
        help="Where to connect, ws:// or wss://. [CONTROL_PLANE_WS, or TRUNKLINE_WIRE_SERVER with"
        " --wire]",
    ),
]
MachineId = Annotated[
    str | None,
    typer.Option(
        "--id",
        "--guid",
        help="With --wire: what the server knows this machine by. [TRUNKLINE_WIRE_ID]",
    ),
]
Name = Annotated[
    str | None, typer.Option(help="With --wire yeaft: what people see. [TRUNKLINE_WIRE_NAME]")
]
Agent = Annotated[
    Path | None,
    typer.Option(
        "--agent",
        help="With --wire: a TOML or JSON file that says what the agent is (system_prompt, model,"
        " tools …). [TRUNKLINE_WIRE_AGENT]",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        help="With --wire: the model. Without one: that of OPENAI_API_KEY or ANTHROPIC_API_KEY,"
        " else the demo. [TRUNKLINE_WIRE_MODEL]"
    ),
]
Confirm = Annotated[
    choices.Confirm | None,
    typer.Option(help="With --wire: which tools need a yes. [TRUNKLINE_WIRE_CONFIRM, dangerous]"),
]
NodeHome = Annotated[
    Path | None,
    typer.Option(
        help="Where sessions and the workspace live. [TRUNKLINE_NODE_HOME; of a machine that joins"
        " by a code ~/agents]"
    ),
]
Root = Annotated[
    list[Path] | None,
    typer.Option(
        "--root",
        help="A folder below which sessions may work, besides the workspace; may be repeated."
        " [TRUNKLINE_NODE_ROOTS, as A:B]",
    ),
]
Workspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        help="The folder of sessions that name none. [TRUNKLINE_NODE_WORKSPACE, workspace/ in the"
        " home]",
    ),
]
MaxSessions = Annotated[
    int | None, typer.Option(help="Sessions at once. [TRUNKLINE_NODE_SESSIONS_MAX, 20]")
]
PassEnv = Annotated[
    str | None,
    typer.Option(help="Secret variables that sessions get, as A,B. [TRUNKLINE_NODE_PASS_ENV]"),
]
FenceMode = Annotated[
    choices.Fence | None,
    typer.Option(
        help="Whether sessions are kept to their own place: auto (as far as this system can),"
        " require (or else not run) or off. [TRUNKLINE_FENCE, auto]"
    ),
]
NetworkMode = Annotated[
    choices.Network | None,
    typer.Option(
        help="What commands of sessions may reach; list: what --network-host names."
        " [TRUNKLINE_NODE_NETWORK, open]"
    ),
]
NetworkHost = Annotated[
    list[str] | None,
    typer.Option(
        "--network-host",
        help="With --network list: a host that may be reached, or *.NAME; may be repeated."
        " [TRUNKLINE_NODE_NETWORK_HOSTS, as A,B]",
    ),
]
JsonLogs = Annotated[bool | None, typer.Option("--json-logs", help="One JSON object a line.")]
LogLevel = Annotated[choices.LogLevel | None, typer.Option(help="The least it logs. [info]")]

EXAMPLE = (
    "\b\nExample:\n"
    "  trunkline node --join 7Q4M-X2HD-K9TB --url https://trunk.example\n"
    "  trunkline node                 (later: the same machine again)\n"
    "  trunkline node install         (starts it with this computer, from now on)\n"
    "The first line is printed by `trunkline machine add`, where the server is.\n\n"
    "\b\nWith credentials from `trunkline machine schedule`:\n"
    "  USER_ID=… VM_TOKEN=… VM_TICKET=… CONTROL_PLANE_WS=wss://trunk.example/ws/vm \\\n"
    "    trunkline node --home ~/agents\n\n"
    "\b\nOn somebody else's server:\n"
    "  TRUNKLINE_WIRE_TOKEN=… trunkline node --wire agp --server wss://agp.example \\\n"
    "    --guid desk-1 --user-id ada\n"
    "  TRUNKLINE_WIRE_TOKEN=… trunkline node --wire yeaft --server wss://yeaft.example --id desk-1"
)


group = typer.Typer(
    name="node",
    epilog=EXAMPLE,
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    from trunkline.cli import node_service

    node_service.add_to(group)
    app.add_typer(group)


@group.callback()
def node(
    ctx: typer.Context,
    join: Join = None,
    url: JoinUrl = None,
    wire: Wire = None,
    user_id: UserId = None,
    token: Token = None,
    ticket: Ticket = None,
    control_plane: ControlPlane = None,
    machine_id: MachineId = None,
    name: Name = None,
    agent: Agent = None,
    model: Model = None,
    confirm: Confirm = None,
    home: NodeHome = None,
    root: Root = None,
    workspace: Workspace = None,
    max_sessions: MaxSessions = None,
    pass_env: PassEnv = None,
    fence: FenceMode = None,
    network: NetworkMode = None,
    network_host: NetworkHost = None,
    json_logs: JsonLogs = None,
    log_level: LogLevel = None,
) -> None:
    """Run the execution plane's daemon on this machine, until SIGTERM or Ctrl-C.

    It holds one line to the control plane, or to a foreign server with --wire, and runs each
    session in a process of its own. A machine that joined by a code keeps what it connects with in
    its home: without arguments, it is that machine again.
    """
    if ctx.invoked_subcommand is not None:
        if given := [name for name, value in ctx.params.items() if value]:
            raise typer.BadParameter(
                f"--{given[0].replace('_', '-')} stands behind {ctx.invoked_subcommand}, or is a"
                " variable TRUNKLINE_NODE_…"
            )
        return
    if (why := extras.problem()) is not None:
        raise CommandFailed(f"no agents can run here: {why}")
    import msgspec

    from trunkline.cli import node_join
    from trunkline.execution.errors import HomeBusy, ServerRefused, SettingsError
    from trunkline.execution.main import run
    from trunkline.execution.settings import NodeSettings

    flags = {
        "wire": wire,
        "user_id": user_id,
        "token": token,
        "ticket": ticket,
        "control_plane_url": control_plane,
        "machine_id": machine_id,
        "name": name,
        "agent_file": agent,
        "model": model,
        "confirm": confirm,
        "home": home,
        "roots": root or None,
        "workspace": workspace,
        "sessions_max": max_sessions,
        "pass_env": pass_env,
        "fence": fence,
        "network": network,
        "network_hosts": network_host or None,
        "json_logs": json_logs,
        "log_level": log_level,
    }
    try:
        joined = node_join.credentials(join, url, flags, os.environ)
        settings = NodeSettings.from_env(flags=flags)
    except SettingsError as error:
        say(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    except (HomeBusy, OSError) as error:
        raise CommandFailed(str(error)) from error
    try:
        run(msgspec.structs.replace(settings, joined=joined))
    except (HomeBusy, OSError, SettingsError, ServerRefused) as error:
        raise CommandFailed(str(error)) from error

"""`trunkline agent`, `person`, `group`: agents, and persons that answer together.

An agent is a prompt, a model and tools with a name.
"""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import choices
from trunkline.cli.model_keys import keyless
from trunkline.cli.names import Members, Named, option
from trunkline.cli.output import CommandFailed, Json
from trunkline.cli.records import Records
from trunkline.cli.remote import given, group
from trunkline.cli.runtimes_here import Acp, Runtime
from trunkline.names import ACP_PRESETS

if TYPE_CHECKING:
    from trunkline.client import Client

agents = group("agent", "Agents.")
persons = group("person", "Persons, who answer in groups.")
groups = group("group", "Groups of persons.")

Description = Annotated[str | None, typer.Option(help="One sentence about it.")]
Prompt = Annotated[str | None, typer.Option(help="Its system prompt; @FILE reads it from a file.")]
Model = Annotated[str | None, typer.Option(help="The model's name.")]
Temperature = Annotated[float | None, typer.Option(min=0, max=2, help="0 to 2.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Of one answer.")]
Tools = Annotated[list[str] | None, typer.Option("--tool", help="A tool it may use; repeatable.")]
Confirm = Annotated[choices.Confirm | None, typer.Option(help="Which tools ask first.")]
Mode = Annotated[
    choices.Mode | None,
    typer.Option("--mode", help="What it may do without a question, instead of --confirm."),
]

Home = Annotated[
    str | None,
    option("machines", "--machine", "Where it lives: a machine's id or name, or a device's guid."),
    Named("machines"),
]
Workspace = Annotated[str | None, typer.Option(help="The folder that it works in, on its machine.")]
SessionConfig = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A setting of its sessions, as context_window=32768; repeatable. All are said anew.",
    ),
]


async def _agent(
    _client: "Client",
    description: Description = None,
    prompt: Prompt = None,
    model: Model = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    tools: Tools = None,
    confirm: Confirm = None,
    mode: Mode = None,
    runtime: Runtime = None,
    acp: Acp = None,
    workspace: Workspace = None,
    session_config: SessionConfig = None,
) -> Json:
    check_program(runtime, acp)
    return given(
        description=description,
        system_prompt=text_of(prompt),
        model=model,
        temperature=temperature,
        max_tokens=max_tokens,
        tools=tools or None,
        confirm=confirm,
        permission_mode=mode,
        runtime_type=runtime,
        acp=acp_of(acp),
        workspace=workspace,
        session_config=dict(map(pair, session_config)) if session_config else None,
    )


def acp_of(value: str | None) -> Json | None:
    """A preset by its name; anything else is a command, as a shell would split it."""
    if value is None:
        return None
    if value in ACP_PRESETS:
        return {"preset": value}
    try:
        return {"command": shlex.split(value)}
    except ValueError as error:
        raise CommandFailed(f"--acp: {error}") from error


def check_program(runtime: str | None, acp: str | None, agent: str | None = None) -> None:
    """The runtime acp says nothing of which program it is; an agent may."""
    if runtime == "acp" and acp is None and agent is None:
        known = ", ".join(ACP_PRESETS)
        raise typer.BadParameter(f"--runtime acp runs a program: name it with --acp NAME ({known})")


def pair(text: str) -> tuple[str, object]:
    """NAME=VALUE; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def text_of(value: str | None) -> str | None:
    """A text from the command line; `@FILE` is that file's."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"cannot read {value[1:]}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"cannot read {value[1:]}: it is not UTF-8 text") from error


_agents = Records(
    agents, "agent", "Coder", ("id", "name", "model", "runtime_type", "created_at", "confirm")
)
_agents.can_list()
_agents.can_create(_agent, "Coder --prompt @coder.md --tool bash", doubt=keyless)
_agents.can_show()
_agents.can_update(_agent, "--temperature 0.2", doubt=keyless)
_agents.can_delete("Delete {}; its sessions stay.")


async def _person(
    _client: "Client",
    prompt: Prompt = None,
    model: Model = None,
    machine: Home = None,
    runtime: Runtime = None,
    confirm: Confirm = None,
) -> Json:
    return given(
        prompt=text_of(prompt),
        model=model,
        machine_id=machine,
        runtime_type=runtime,
        confirm=confirm,
    )


async def _group(_client: "Client", person: Members = None) -> Json:
    return given(person_ids=person or None)


def _shown(group: Json) -> Json:
    """A group with its persons by name."""
    return {**group, "persons": [one["name"] for one in group["persons"]]}


_persons = Records(
    persons,
    "person",
    "alice",
    ("id", "name", "model", "machine_id", "runtime_type", "created_at", "confirm"),
)
_persons.can_list()
_persons.can_create(_person, "alice --prompt @alice.md", doubt=keyless)
_persons.can_show()
_persons.can_update(_person, "--model small", doubt=keyless)
_persons.can_delete("Delete {}, from every group too.", "Delete {}, from every group too?")

_groups = Records(groups, "group", "team", ("id", "name", "persons", "created_at"), _shown)
_groups.can_list()
_groups.can_create(
    _group,
    "team --person alice --person bob",
    "Make {}. A session with its id as machine is a conversation.",
)
_groups.can_show()
_groups.can_update(_group, "--person alice --person carol", "Rename {}, or say anew who is in it.")
_groups.can_delete(
    "Delete {}; its conversations are closed, its persons stay.",
    "Delete {}, and close its conversations?",
)

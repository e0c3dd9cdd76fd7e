"""`trunkline agent`: agents, which are prompts, models and tools with a name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.errors import CommandFailed
from trunkline.cli.output import Json
from trunkline.cli.records import Records
from trunkline.cli.remote import given, group

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("agent", "Agents.")

Description = Annotated[str | None, typer.Option(help="One sentence about it.")]
Prompt = Annotated[str | None, typer.Option(help="Its system prompt; @FILE reads it from a file.")]
Model = Annotated[str | None, typer.Option(help="The model's name.")]
Temperature = Annotated[float | None, typer.Option(help="0 to 2.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Of one answer.")]
Tools = Annotated[list[str] | None, typer.Option("--tool", help="A tool it may use; repeatable.")]
Confirm = Annotated[
    str | None, typer.Option(help="Which tools ask first: never, dangerous or always.")
]
Runtime = Annotated[str | None, typer.Option(help="semigraph, openclaw, claude-code or acp.")]


async def _agent(
    _client: "Client",
    description: Description = None,
    prompt: Prompt = None,
    model: Model = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    tools: Tools = None,
    confirm: Confirm = None,
    runtime: Runtime = None,
) -> Json:
    return given(
        description=description,
        system_prompt=text_of(prompt),
        model=model,
        temperature=temperature,
        max_tokens=max_tokens,
        tools=tools or None,
        confirm=confirm,
        runtime_type=runtime,
    )


def text_of(value: str | None) -> str | None:
    """A text from the command line; `@FILE` is that file's."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"cannot read {value[1:]}: {error}") from error


_agents = Records(app, "agent", ("id", "name", "model", "runtime_type", "confirm", "created_at"))
_agents.can_list()
_agents.can_create(_agent, "Coder --prompt @coder.md --tool bash")
_agents.can_show()
_agents.can_update(_agent, "--temperature 0.2")
_agents.can_delete("Delete {}; its sessions stay.")

"""`trunkline agent`: agents, which are prompts, models and tools with a name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.errors import CommandFailed
from trunkline.cli.output import Done, Json, Record, Rows
from trunkline.cli.remote import Limit, given, group, remote, taken

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


@remote(app, "list", example="trunkline agent list")
async def list_agents(client: "Client", limit: Limit = 50) -> Rows:
    """List agents."""
    columns = ("id", "name", "model", "runtime_type", "confirm", "created_at")
    return Rows(await taken(client.each("agents"), limit), columns)


@remote(app, "create", example="trunkline agent create Coder --prompt @coder.md --tool bash")
async def create(
    client: "Client",
    name: str,
    description: Description = None,
    prompt: Prompt = None,
    model: Model = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    tools: Tools = None,
    confirm: Confirm = None,
    runtime: Runtime = None,
) -> Record:
    """Make an agent."""
    body = _body(description, prompt, model, temperature, max_tokens, tools, confirm, runtime)
    return Record(await client.post("agents", body={"name": name, **body}))


@remote(app, "show", example="trunkline agent show 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def show(client: "Client", agent_id: str) -> Record:
    """Show an agent."""
    return Record(await client.get("agents", agent_id))


@remote(app, "update", example="trunkline agent update ID --temperature 0.2")
async def update(
    client: "Client",
    agent_id: str,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    description: Description = None,
    prompt: Prompt = None,
    model: Model = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    tools: Tools = None,
    confirm: Confirm = None,
    runtime: Runtime = None,
) -> Record:
    """Change an agent; what is not named stays."""
    body = _body(description, prompt, model, temperature, max_tokens, tools, confirm, runtime)
    return Record(await client.patch("agents", agent_id, body={**given(name=name), **body}))


@remote(app, "delete", example="trunkline agent delete 01a1dd16-7fed-7860-a4ee-8e35ee94311f")
async def delete(client: "Client", agent_id: str) -> Done:
    """Delete an agent; its sessions stay."""
    await client.delete("agents", agent_id)
    return Done(f"deleted {agent_id}")


def _body(
    description: str | None,
    prompt: str | None,
    model: str | None,
    temperature: float | None,
    max_tokens: int | None,
    tools: list[str] | None,
    confirm: str | None,
    runtime: str | None,
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

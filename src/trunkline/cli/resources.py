"""`trunkline skill`, `mcp`, `memory`: what agents work with."""

import io
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import limits
from trunkline.cli.names import EvolutionName, SkillName
from trunkline.cli.output import CommandFailed, Json, Record, Rows
from trunkline.cli.progress import Progress
from trunkline.cli.records import Records
from trunkline.cli.remote import Limit, collect, given, group, remote

if TYPE_CHECKING:
    from trunkline.client import Client

skills = group("skill", "Skills of the organisation.")
mcp = group("mcp", "MCP servers.")
memories = group("memory", "Long-term memories.")

_skills = Records(
    skills,
    "skill",
    "pdf",
    ("id", "skill_id", "version", "description", "source"),
    first="import FOLDER",
)
_servers = Records(
    mcp,
    "mcp",
    "github",
    ("id", "name", "type", "address", "timeout_s"),
    lambda server: {**server, "address": _address(server)},
    title="MCP server",
    path="mcp-servers",
    first="add NAME --server URL",
)
_memories = Records(
    memories,
    "memory",
    "'Deploys happen'",
    ("id", "content", "created_at"),
    path="memories",
    many="memories",
    first="add 'Deploys happen on Tuesdays'",
)


def _address(server: Json) -> str:
    """Where a remote one is, or how a local one is started."""
    if server.get("url"):
        return str(server["url"])
    return " ".join(map(str, filter(None, (server.get("command"), *(server.get("args") or ())))))


_skills.can_list("List skills, each version a line.")


@remote(skills, "show", example="trunkline skill show pdf --version 1.2.0")
async def show_skill(
    client: "Client",
    skill_id: SkillName,
    version: Annotated[str | None, typer.Option(help="[the latest]")] = None,
) -> Record:
    """Show a skill and its files."""
    return Record(await client.get("skills", skill_id, version=version))


@remote(skills, "import", example="trunkline skill import ./my-skill")
async def import_skill(
    client: "Client",
    package: Annotated[Path, typer.Argument(help="A folder with a SKILL.md, or a zip of one.")],
) -> Record:
    """Import a skill package."""
    with Progress(f"packing {package}") as progress:
        content = packed(package)
        progress.tell(f"sending {package}")
        progress.at(len(content))
        return Record(await client.upload("skills", content=content))


_skills.can_delete("Delete one version (by its id) or all (by the skill's id).")


@remote(skills, "submitted", example="trunkline skill submitted")
async def submitted(client: "Client", limit: Limit = 50) -> Rows:
    """List the skills that agents have submitted."""
    found = await collect(client.each("evolutions"), limit)
    columns = ("id", "name", "state", "quality_score", "description")
    return Rows(found, columns, empty="no agent has submitted a skill")


@remote(skills, "approve", example="trunkline skill approve pdf")
async def approve(client: "Client", evolution_id: EvolutionName) -> Record:
    """Make a skill of what an agent has submitted."""
    return Record(await client.post("evolutions", evolution_id, "approve"))


@remote(skills, "reject", example="trunkline skill reject pdf")
async def reject(client: "Client", evolution_id: EvolutionName) -> Record:
    """Decline what an agent has submitted."""
    return Record(await client.post("evolutions", evolution_id, "reject"))


def packed(package: Path) -> bytes:
    """A package as a zip; the server checks what is in it."""
    try:
        content = _zipped(package) if package.is_dir() else package.read_bytes()
    except OSError as error:
        raise CommandFailed(f"cannot read {package}: {error.strerror}") from error
    if len(content) > limits.UPLOAD_BYTES_MAX:
        raise CommandFailed(f"{package} is larger than {limits.UPLOAD_BYTES_MAX} bytes")
    return content


def _zipped(folder: Path) -> bytes:
    if not any(path.name.casefold() == "skill.md" for path in folder.iterdir()):
        raise CommandFailed(f"{folder} is no skill: it has no SKILL.md at its top")
    found = sorted(folder.rglob("*"))
    for path in found:
        if path.is_symlink():
            raise CommandFailed(f"{path} is a link, and a package must not hold links")
    files = [path for path in found if path.is_file()]
    if len(files) > limits.SKILL_FILES_MAX:
        raise CommandFailed(f"{folder} has more than {limits.SKILL_FILES_MAX} files")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            # One time for all, so that the same folder is always the same package.
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (path.stat().st_mode & 0o777) << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


_servers.can_list()


@remote(
    mcp,
    "add",
    example="trunkline mcp add github --server https://mcp.example/mcp"
    " --header-env Authorization=GITHUB_AUTH",
)
async def add_server(
    client: "Client",
    name: str,
    server: Annotated[str | None, typer.Option(help="A remote server's address.")] = None,
    header_env: Annotated[
        list[str] | None,
        typer.Option(help="HEADER=VARIABLE: send this variable's value; repeatable."),
    ] = None,
    command: Annotated[str | None, typer.Option(help="A local server's program.")] = None,
    arg: Annotated[list[str] | None, typer.Option(help="Its arguments; repeatable.")] = None,
    timeout_s: Annotated[float | None, typer.Option(help="Limit of one call.")] = None,
    trust_hints: Annotated[
        bool,
        typer.Option("--trust-hints", help="What it says only reads asks nobody."),
    ] = False,
    shared: Annotated[bool, typer.Option("--shared", help="For the whole organisation.")] = False,
) -> Record:
    """Add a remote MCP server (--server) or a local one (--command)."""
    if (server is None) == (command is None):
        raise typer.BadParameter("give either --server or --command")
    body = given(
        name=name,
        type="local" if server is None else "remote",
        url=server,
        headers=dict(map(_header, header_env)) if header_env else None,
        command=command,
        args=arg or None,
        timeout_s=timeout_s,
        trust_hints=trust_hints or None,
        shared=shared or None,
    )
    return Record(await client.post("mcp-servers", body=body))


_servers.can_delete("Remove an MCP server.")


def _header(text: str) -> tuple[str, str]:
    """The value comes from the environment: a command line can be read by others."""
    name, equals, variable = text.partition("=")
    if not equals or not name or not variable:
        raise typer.BadParameter(f"{text!r} is not HEADER=VARIABLE")
    value = os.environ.get(variable)
    if value is None:
        raise CommandFailed(f"the environment has no {variable}")
    return name, value


_memories.can_list("List memories, newest first.")


@remote(memories, "add", example="trunkline memory add 'Deploys happen on Tuesdays'")
async def add_memory(
    client: "Client",
    content: str,
    shared: Annotated[bool, typer.Option("--shared", help="For the whole organisation.")] = False,
) -> Record:
    """Remember something."""
    return Record(await client.post("memories", body=given(content=content, shared=shared or None)))


@remote(memories, "search", example="trunkline memory search 'when do we deploy' --top-k 3")
async def search_memory(
    client: "Client",
    query: str,
    top_k: Annotated[int, typer.Option(min=1, max=20, help="How many.")] = 5,
) -> Rows:
    """Search by meaning and by words."""
    found = await client.get("memories", "search", q=query, top_k=top_k)
    return Rows(found["results"], ("content", "score"), empty="nothing found")


_memories.can_delete("Forget something.", "Forget {}?")

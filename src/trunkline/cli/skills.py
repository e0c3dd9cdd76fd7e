"""`trunkline skill`: skill packages, and those that agents have submitted."""

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import limits
from trunkline.cli.errors import CommandFailed
from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, group, remote, taken

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("skill", "Skills of the organisation.")


@remote(app, "list", example="trunkline skill list")
async def list_skills(client: "Client", limit: Limit = 50) -> Rows:
    """List skills, each version a line."""
    found = await taken(client.each("skills"), limit)
    return Rows(found, ("id", "skill_id", "version", "source", "description"))


@remote(app, "show", example="trunkline skill show pdf --version 1.2.0")
async def show(
    client: "Client",
    skill_id: str,
    version: Annotated[str | None, typer.Option(help="[the latest]")] = None,
) -> Record:
    """Show a skill and its files."""
    return Record(await client.get("skills", skill_id, version=version))


@remote(app, "import", example="trunkline skill import ./my-skill")
async def import_skill(
    client: "Client",
    package: Annotated[Path, typer.Argument(help="A folder with a SKILL.md, or a zip of one.")],
) -> Record:
    """Import a skill package."""
    return Record(await client.upload("skills", content=packed(package)))


@remote(app, "delete", example="trunkline skill delete pdf")
async def delete(client: "Client", skill_id: str) -> Done:
    """Delete one version (by its id) or all (by the skill's id)."""
    await client.delete("skills", skill_id)
    return Done(f"deleted {skill_id}")


@remote(app, "submitted", example="trunkline skill submitted")
async def submitted(client: "Client", limit: Limit = 50) -> Rows:
    """List the skills that agents have submitted."""
    found = await taken(client.each("evolutions"), limit)
    return Rows(found, ("id", "name", "quality_score", "state", "description"))


@remote(app, "approve", example="trunkline skill approve ID")
async def approve(client: "Client", evolution_id: str) -> Record:
    """Make a skill of what an agent has submitted."""
    return Record(await client.post("evolutions", evolution_id, "approve"))


@remote(app, "reject", example="trunkline skill reject ID")
async def reject(client: "Client", evolution_id: str) -> Record:
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

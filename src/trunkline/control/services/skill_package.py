"""A checked skill package: its files, its manifest, and the inventory that machines are told.

Built from a zip, a folder or a lone SKILL.md; `skills` stores it.
"""

import base64
from pathlib import Path
from typing import Any

import msgspec

from trunkline.control.services import skill_files, skill_manifest
from trunkline.control.services.skill_manifest import Manifest

_REFERENCE_FOLDERS = ("references/", "reference/")


class FileInventory(msgspec.Struct, frozen=True):
    """What `start_session` says about a skill's files (document 000 §5.2)."""

    has_skill_md: bool
    has_scripts: bool
    has_references: bool
    script_files: list[str]
    reference_files: list[str]


class SkillPackage(msgspec.Struct, frozen=True):
    skill_id: str
    manifest: Manifest
    files: dict[str, bytes]
    file_inventory: FileInventory


def read_zip(data: bytes) -> SkillPackage:
    return build(skill_files.from_zip(data))


def read_folder(folder: Path) -> SkillPackage:
    return build(skill_files.from_folder(folder))


def build(files: dict[str, bytes]) -> SkillPackage:
    """The package that these checked files are, or a refusal with its reason."""
    spelled = next((path for path in files if path.casefold() == "skill.md"), None)
    if spelled is None:
        raise skill_files.refused("it has no SKILL.md at its top")
    # Machines look for exactly this spelling.
    files = {"SKILL.md" if path == spelled else path: files[path] for path in sorted(files)}
    manifest = skill_manifest.parse(files["SKILL.md"])
    return SkillPackage(skill_manifest.slug(manifest.name), manifest, files, inventory(files))


def from_skill_md(text: str, name: str, description: str) -> SkillPackage:
    """A package of one file, under the given name whatever its frontmatter says."""
    fields = skill_manifest.frontmatter(text)
    if fields is None:
        # JSON strings are YAML strings, so nothing in them can end the block.
        head = [
            f"{key}: {msgspec.json.encode(value).decode()}"
            for key, value in (("name", name), ("description", description))
        ]
        text = "\n".join(["---", *head, "---", "", text])
    files = {"SKILL.md": text.encode()}
    found = skill_manifest.parse(files["SKILL.md"])
    manifest = Manifest(name, description, None, found.requires)
    return SkillPackage(skill_manifest.slug(name), manifest, files, inventory(files))


def inventory(files: dict[str, bytes]) -> FileInventory:
    scripts = [path for path in files if path.startswith("scripts/")]
    references = [path for path in files if _is_reference(path)]
    return FileInventory(
        has_skill_md="SKILL.md" in files,
        has_scripts=bool(scripts),
        has_references=bool(references),
        script_files=sorted(scripts),
        reference_files=sorted(references),
    )


def _is_reference(path: str) -> bool:
    """Other Markdown beside SKILL.md (REFERENCE.md, FORMS.md), or a file of a reference folder."""
    if path.startswith(_REFERENCE_FOLDERS):
        return True
    return "/" not in path and path != "SKILL.md" and path.casefold().endswith(".md")


def wire_file(path: str, content: bytes) -> dict[str, Any]:
    """A file as `get_skill_package` sends it: text where that is possible and not longer."""
    coded = base64.b64encode(content).decode()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"path": path, "content": coded, "encoding": "base64"}
    if len(msgspec.json.encode(text)) > max(len(coded), 1024):
        return {"path": path, "content": coded, "encoding": "base64"}
    return {"path": path, "content": text, "encoding": "utf-8"}

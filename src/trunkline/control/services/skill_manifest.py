"""What a SKILL.md says about its skill: name, description, version, requirements.

Frontmatter in the wild is loose YAML, so that a block which YAML refuses is read line by line.
"""

import datetime
import hashlib
import json
import re
import unicodedata
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.errors import InvalidRequest

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)\Z")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,59}\Z")
# Names under which publishers nest their requirements inside `metadata`.
_PUBLISHERS = ("openclaw", "clawdbot", "clawdis", "clawhub", "semibot", "trunkline")
_FRONTMATTER_CHARS_MAX = 16 * 1024  # YAML is read by slow code
_FRONTMATTER_BRACKETS_MAX = 500  # nesting is where it is slowest
_SLUG_CHARS_MAX = 60  # at most 240 bytes of UTF-8: fits every file system
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\Z")


class Requires(msgspec.Struct, frozen=True):
    """What a machine must have before the skill is offered there."""

    binaries: list[str] = []
    env_vars: list[str] = []


class Manifest(msgspec.Struct, frozen=True):
    name: str
    description: str
    version: str | None
    requires: Requires


def refused(reason: str) -> InvalidRequest:
    return InvalidRequest(f"the skill package is refused: {reason}", code="SKILL_INVALID")


def parse(skill_md: bytes) -> Manifest:
    """Reads the frontmatter, or refuses the package and says what is missing."""
    fields = frontmatter(_text(skill_md))
    if fields is None:
        raise refused("SKILL.md has no frontmatter (a block between two lines of '---')")
    name, description = _scalar(fields.get("name")), _scalar(fields.get("description"))
    if not name:
        raise refused("SKILL.md's frontmatter has no name")
    if not description:
        raise refused("SKILL.md's frontmatter has no description")
    if len(name) > limits.NAME_CHARS_MAX or not name.isprintable():
        raise refused(f"the name must be one line of at most {limits.NAME_CHARS_MAX} characters")
    if len(description) > limits.TEXT_CHARS_MAX or not _is_storable(description):
        raise refused("the description is too long or not text")
    metadata = _mapping(fields.get("metadata"))
    version = _scalar(fields.get("version")) or _scalar(metadata.get("version")) or None
    if version is not None and (not _VERSION.match(version) or version == "latest"):
        raise refused(f"{version[:60]!r} is not a version")
    return Manifest(name, description, version, _requires(fields, metadata))


def frontmatter(text: str) -> dict[str, Any] | None:
    """The fields of the block at the top; None when there is no block."""
    found = _BLOCK.match(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if found is None:
        return None
    block = found.group(1)
    if len(block) > _FRONTMATTER_CHARS_MAX:
        raise refused("SKILL.md's frontmatter is too long")
    loaded = _load(block)
    return loaded if isinstance(loaded, dict) else _loose(block)


def slug(name: str) -> str:
    """A folder name made of the skill's name. Letters of every script stay."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    kept = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else "-" for c in folded)
    text = re.sub(r"-+", "-", "".join(kept)).strip("-")
    digest = hashlib.sha256(folded.encode()).hexdigest()[:12]
    if not any(c.isalnum() for c in text) or _DEVICES.match(text):
        return f"skill-{digest}"
    if len(text) > _SLUG_CHARS_MAX:
        return f"{text[: _SLUG_CHARS_MAX - 13].rstrip('-')}-{digest}"
    return text


def _is_storable(text: str) -> bool:
    """YAML escapes can spell NUL and half of a surrogate pair, which no database takes."""
    return not re.search(r"[\x00\ud800-\udfff]", text)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise refused("SKILL.md is not UTF-8") from error


def _load(text: str) -> Any:
    """YAML, or None. Besides YAMLError, PyYAML lets errors of dates, numbers and depth through."""
    import yaml  # a server without skills need not load it

    if text.count("[") + text.count("{") > _FRONTMATTER_BRACKETS_MAX:
        return None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None


def _loose(block: str) -> dict[str, Any]:
    """`key: rest of the line`, with the indented lines below it."""
    fields: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block.split("\n"):
        found = _KEY.match(line)
        if found:
            current = fields.setdefault(found.group(1), [])
            current.append(found.group(2))
        else:
            current.append(line)
    return {key: _loose_value(key, lines) for key, lines in fields.items()}


def _loose_value(key: str, lines: list[str]) -> Any:
    if key in ("metadata", "requires"):
        return _load("\n".join(lines))
    joined = " ".join(line.strip() for line in lines if line.strip())
    joined = re.sub(r"\A[|>][+-]? ", "", joined)
    if len(joined) > 1 and joined[0] == joined[-1] and joined[0] in "'\"":
        return joined[1:-1]
    return joined


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, (int, float, datetime.date)):
        return ""
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return ""


def _mapping(value: Any) -> dict[str, Any]:
    """A mapping, also when it was written as JSON in a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _requires(fields: dict[str, Any], metadata: dict[str, Any]) -> Requires:
    places = [fields, metadata, *(_mapping(metadata.get(name)) for name in _PUBLISHERS)]
    binaries: list[str] = []
    env_vars: list[str] = []
    for place in places:
        block = _mapping(place.get("requires"))
        for key in ("binaries", "bins"):
            _extend(binaries, block.get(key))
        for key in ("env_vars", "env"):
            _extend(env_vars, block.get(key))
    return Requires(binaries, env_vars)


def _extend(known: list[str], value: Any) -> None:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        return
    for item in items:
        if not isinstance(item, str) or not item.strip():
            continue
        text = item.strip()
        if not text.isprintable():
            raise refused("it requires something whose name is not plain text")
        if len(text) > limits.NAME_CHARS_MAX or len(known) >= limits.SKILL_REQUIRES_MAX:
            raise refused("it requires too many things, or one with too long a name")
        if text not in known:
            known.append(text)

"""What a person said, as ACP content blocks: text, pictures, files, and what was said before.

A file is saved in the workspace and linked; the agent gets its contents at once where it says that
it can take them.
"""

import base64
from collections.abc import Sequence
from pathlib import Path

from trunkline import limits
from trunkline.execution.attachments import Attachment, save, with_attachments
from trunkline.execution.errors import AttachmentRefused
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.content import obj
from trunkline.execution.texts import both_ends

EMBEDDED_BYTES_MAX = 100_000  # of a text that is given with the message
HISTORY_CHARS_MAX = 60_000  # of what was said before, to an agent that has no memory of it
_SAID_CHARS_MAX = 8_000


def blocks(
    message: str, attachments: Sequence[Attachment], workspace: Path, capabilities: Json
) -> list[Json]:
    """`capabilities`: the agent's `promptCapabilities`."""
    given: list[Json] = []
    unkept: list[Attachment] = []
    for one in attachments:
        if one.refused:
            unkept.append(one)
        elif one.mime.startswith("image/") and capabilities.get("image") is True:
            given.append({"type": "image", "mimeType": one.mime, "data": _base64(one)})
        elif one.mime.startswith("audio/") and capabilities.get("audio") is True:
            given.append({"type": "audio", "mimeType": one.mime, "data": _base64(one)})
        else:
            try:
                path = save(workspace, one.name, one.data)
            except AttachmentRefused as error:
                refused = Attachment(name=one.name, mime=one.mime, refused=str(error))
                unkept.append(refused)
            else:
                given.append(_file(one, path, embeds=capabilities.get("embeddedContext") is True))
    said = with_attachments(workspace, message, unkept)
    return [{"type": "text", "text": said}, *given]


def with_instructions(prompt: list[Json], instructions: str) -> list[Json]:
    """ACP knows no system prompt: a new conversation begins with it."""
    if not instructions.strip():
        return prompt
    text = f"Instructions for this whole conversation:\n{instructions.strip()}"
    return [{"type": "text", "text": text}, *prompt]


def with_history(prompt: list[Json], history: Sequence[Json]) -> list[Json]:
    """For an agent that cannot go on with its earlier conversation: the newest of it that fits."""
    lines: list[str] = []
    room = HISTORY_CHARS_MAX
    for one in reversed(history):
        fields = obj(one)
        role, said = fields.get("role"), fields.get("content")
        if role not in ("user", "assistant") or not isinstance(said, str) or not said.strip():
            continue
        line = f"{role}: {both_ends(said.strip(), _SAID_CHARS_MAX)}"
        room -= len(line)
        if room < 0:
            break
        lines.insert(0, line)
    if not lines:
        return prompt
    text = "What was said in this conversation before:\n\n" + "\n\n".join(lines)
    return [{"type": "text", "text": text}, *prompt]


def _file(attachment: Attachment, path: Path, *, embeds: bool) -> Json:
    uri = path.as_uri()
    mime = {"mimeType": attachment.mime} if attachment.mime else {}
    if embeds and len(attachment.data) <= EMBEDDED_BYTES_MAX:
        try:
            text = attachment.data.decode()
        except UnicodeDecodeError:
            pass
        else:
            return {"type": "resource", "resource": {"uri": uri, "text": text, **mime}}
    size = len(attachment.data)
    name = path.name[: limits.NAME_CHARS_MAX]
    return {"type": "resource_link", "uri": uri, "name": name, "size": size, **mime}


def _base64(attachment: Attachment) -> str:
    return base64.b64encode(attachment.data).decode("ascii")

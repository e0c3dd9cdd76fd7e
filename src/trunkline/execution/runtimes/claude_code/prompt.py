"""What a person said, as Claude Code takes it: text, pictures, and what was said before elsewhere.

Files that are no pictures are put into the workspace and named.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trunkline import limits
from trunkline.execution.attachments import Attachment, with_attachments
from trunkline.execution.json_object import Json
from trunkline.execution.texts import both_ends, readable

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_PICTURE_BYTES_MAX = 3_750_000  # 5 MB as base64, which is what the provider takes
_HISTORY_CHARS_MAX = 100_000


def user_line(content: list[Json]) -> Json:
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}


def content_of(
    workspace: Path, message: str, attachments: Sequence[Attachment], history: Sequence[Any] = ()
) -> list[Json]:
    """`history`: what the program does not remember, as the control plane has it."""
    pictures = [one for one in attachments if _is_picture(one)]
    files = [one for one in attachments if not _is_picture(one)]
    said = with_attachments(workspace, message, files)
    before = earlier(history)
    text = f"{before}\n\n{said}" if before else said
    # A message without any text is none for the provider.
    blocks: list[Json] = [{"type": "text", "text": readable(text) or "(no text)"}]
    return blocks + [_picture(one) for one in pictures]


def earlier(history: Sequence[Any]) -> str:
    """The conversation so far, for a program that has not taken part in it."""
    lines: list[str] = []
    for entry in history[-limits.NAMES_MAX * 10 :]:
        match entry:
            case {"role": "user" | "assistant" as role, "content": str(content)} if content:
                lines.append(f"{'Person' if role == 'user' else 'You'}: {content}")
    if not lines:
        return ""
    told = both_ends("\n\n".join(lines), _HISTORY_CHARS_MAX)
    return f"<conversation_so_far>\n{told}\n</conversation_so_far>"


def _is_picture(attachment: Attachment) -> bool:
    is_kind = attachment.mime in PICTURES and not attachment.refused
    return is_kind and 0 < len(attachment.data) <= _PICTURE_BYTES_MAX


def _picture(attachment: Attachment) -> Json:
    data = base64.b64encode(attachment.data).decode()
    source = {"type": "base64", "media_type": attachment.mime, "data": data}
    return {"type": "image", "source": source}

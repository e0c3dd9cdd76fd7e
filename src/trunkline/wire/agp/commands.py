"""Commands in the words of AGP: what a device is sent, and to which of its apps. Pure."""

from collections.abc import Mapping
from typing import Any

from trunkline.wire.agp.codec import msg_id_of
from trunkline.wire.agp.messages import Cancel, CancelPayload, Prompt, PromptPayload, blocks
from trunkline.wire.commands import Say

DEFAULT_APP = "openclaw"
_OPENCLAW = "openclaw"


def prompt_of(say: Say, guid: str, user_id: str, agent_app: str, *, attachments_max: int) -> Prompt:
    """A user's message; sent again it has the same id."""
    return Prompt(
        msg_id=msg_id_of("prompt", say.turn_id),
        guid=guid,
        user_id=user_id,
        payload=PromptPayload(
            session_id=say.session_id,
            prompt_id=say.turn_id,
            agent_app=agent_app,
            content=blocks(say.message, *map(_note, _attached(say.metadata, attachments_max))),
        ),
    )


def cancel_of(session_id: str, turn_id: str, guid: str, user_id: str, agent_app: str) -> Cancel:
    return Cancel(
        msg_id=msg_id_of("cancel", turn_id),
        guid=guid,
        user_id=user_id,
        payload=CancelPayload(session_id, turn_id, agent_app),
    )


def _attached(metadata: Mapping[str, Any], count_max: int) -> list[dict[str, str]]:
    """The names and kinds of a message's files."""
    attachments = metadata.get("attachments")
    if not isinstance(attachments, list):
        return []
    return [
        {field: str(one.get(field) or "")[:200] for field in ("name", "mime")}
        for one in attachments[:count_max]
        if isinstance(one, dict)
    ]


def _note(attached: dict[str, str]) -> str:
    """AGP carries text only: the app is told what it does not get."""
    kind = f", {attached['mime']}" if attached["mime"] else ""
    return f"[attachment {attached['name']!r}{kind}: not sent, this device takes text only]"


def agent_app_of(
    agent_config: Mapping[str, Any], runtime_type: str, *, is_openclaw: bool, chars_max: int
) -> str | None:
    """The app that a session's agent asks for; None: whichever the device has."""
    named = checked_app(agent_config.get("agent_app"), chars_max)
    if named is not None:
        return named
    return _OPENCLAW if is_openclaw or runtime_type == _OPENCLAW else None


def checked_app(name: Any, chars_max: int) -> str | None:
    """A name that can be one of an app's; clients write what they like into a configuration."""
    if not isinstance(name, str) or not 0 < len(name) <= chars_max:
        return None
    return name if name.isprintable() else None

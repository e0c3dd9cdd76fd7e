"""The machine's answer to `session.compact`: the conversation of a session is to be shortened."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.json_object import Json
from trunkline.execution.session import ipc
from trunkline.execution.session.session import Session

METHOD = "session.compact"


class _Asked(msgspec.Struct):
    session_id: Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]


def compact(sessions: Mapping[str, Session], params: Json) -> Json:
    """It is done when no turn runs; its event tells how it ended. Raises RequestFailed."""
    try:
        asked = msgspec.convert(params, _Asked)
    except msgspec.ValidationError as error:
        raise RequestFailed("INVALID_REQUEST", str(error)[:500]) from error
    session = sessions.get(asked.session_id)
    if session is None:
        why = "the session does not run on its machine now; say something to it first"
        raise RequestFailed("SESSION_NOT_RUNNING", why)
    if (runtime := session.config.runtime_type) != ipc.DEFAULT_RUNTIME:
        why = (
            f"{runtime} keeps its conversation itself; only sessions of semigraph can be compacted"
        )
        raise RequestFailed("CANNOT_COMPACT", why)
    if not session.compact():
        raise RequestFailed("SESSION_BUSY", "too much waits in this session")
    return {}

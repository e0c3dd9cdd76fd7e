"""Messages that are too large for one frame: sent with less in them, where that is of use. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from trunkline.wire.semibot.codec import encode
from trunkline.wire.semibot.messages import (
    ConfigUpdate,
    Downlink,
    ErrorBody,
    Json,
    Response,
    ResumeResponse,
    StartSession,
    UserMessage,
)

TOO_LARGE = ErrorBody(code="RESULT_TOO_LARGE", message="the result does not fit into a frame")

_KEPT_FILES = ("skill.md", "reference.md")
_KEPT_FOLDERS = ("scripts/", "references/")
_ENVELOPE_BYTES = 64
_ENTRY_BYTES = 128
"""Room that every entry has, beside its id: enough to say that nothing is known of it, or that it
has failed."""


def frame_of(message: Downlink, bytes_max: int) -> bytes | None:
    """The frame, with as much in it as fits; None: it cannot be sent."""
    frame = encode(message)
    if len(frame) <= bytes_max:
        return frame
    for smaller in _smaller(message, bytes_max):
        frame = encode(smaller)
        if len(frame) <= bytes_max:
            return frame
    return None


def _smaller(message: Downlink, bytes_max: int) -> Iterator[Downlink]:
    match message:
        case StartSession(data=data):
            yield StartSession(data=msgspec.structs.replace(data, snapshot=UNSET))
        case UserMessage(data=data):
            history = data.history
            while history:  # the oldest are missed least
                history = history[(len(history) + 1) // 2 :]
                data = msgspec.structs.replace(data, history=history)
                yield msgspec.structs.replace(message, data=data)
        case ConfigUpdate(data=patch):
            flat = {name: value for name, value in patch.items() if name != "agent_config"}
            yield msgspec.structs.replace(message, data=flat)
        case Response(result=result, error=None):
            if (package := _essential(result)) is not None:
                yield Response(id=message.id, result=package)
            yield Response(id=message.id, error=TOO_LARGE)
        case ResumeResponse(results=results):
            yield ResumeResponse(results=_fitted_results(results, bytes_max))


def _fitted_results(results: dict[str, Any], bytes_max: int) -> dict[str, Any]:
    """The entries of `resume_response`, in their order, as far as there is room. One that is too
    large has failed: else its VM would ask for it for ever."""
    room = bytes_max - _ENVELOPE_BYTES - sum(len(one.encode()) + _ENTRY_BYTES for one in results)
    fitted: dict[str, Any] = {}
    for request_id, entry in results.items():
        for form in _forms(entry):
            more = max(0, len(msgspec.json.encode(form)) - _ENTRY_BYTES)
            if more <= room:
                break
        fitted[request_id] = form
        room -= more
    return fitted


def _forms(entry: Json) -> Iterator[Json]:
    """An entry, and what may stand in its place; the last is never larger than `_ENTRY_BYTES`."""
    yield entry
    if (package := _essential(entry.get("data"))) is not None:
        yield {**entry, "data": package}
    yield {"status": "failed", "error": msgspec.to_builtins(TOO_LARGE)}


def _essential(result: Any) -> Json | None:
    """A skill's package without its assets: what it says and what it runs. None: no package."""
    package = result.get("package") if isinstance(result, dict) else None
    if not isinstance(package, dict) or not isinstance(package.get("files"), list):
        return None
    files = [one for one in package["files"] if _is_essential(one)]
    return {**result, "package": {**package, "files": files}}


def _is_essential(file: Any) -> bool:
    path = file.get("path") if isinstance(file, dict) else None
    if not isinstance(path, str):
        return False
    name = path.casefold()
    is_manifest = "/" not in name and name.partition(".")[0] == "manifest"
    return name in _KEPT_FILES or is_manifest or path.startswith(_KEPT_FOLDERS)

"""Messages that are too large for a frame: what is left out, and what cannot be."""

from typing import Any

import msgspec
import pytest

from trunkline.wire.semibot.fitting import frame_of
from trunkline.wire.semibot.messages import (
    Ack,
    ConfigUpdate,
    Downlink,
    ErrorBody,
    Response,
    ResumeResponse,
    StartSession,
    StartSessionData,
    UserMessage,
    UserMessageData,
)

ROOM = 2_000
LARGE = "x" * ROOM

FILES = (
    "SKILL.md",
    "REFERENCE.md",
    "manifest.json",
    "scripts/run.py",
    "scripts/deep/er.py",
    "references/a.md",
    "assets/picture.png",
    "FORMS.md",
    "docs/manifest.json",
    "LICENSE",
)


def package(**contents: str) -> Any:
    files = [
        {"path": path, "content": contents.get(path, ""), "encoding": "utf-8"} for path in FILES
    ]
    return {"package": {"skill_id": "s", "version": "1", "files": files, "file_inventory": {}}}


def sent(message: Downlink) -> Any:
    frame = frame_of(message, ROOM)
    assert frame is not None
    assert len(frame) <= ROOM
    return msgspec.json.decode(frame)


def entry(data: Any) -> Any:
    return {"status": "completed", "data": data}


def test_what_fits_is_sent_as_it_is() -> None:
    message = Response(id="r", result=package())
    assert sent(message)["result"] == package()


def test_a_frame_may_be_as_large_as_the_bound_and_no_larger() -> None:
    message = Response(id="r", error=ErrorBody(code="C", message="m"))
    size = len(msgspec.json.encode(message))
    assert frame_of(message, size) is not None
    assert frame_of(message, size - 1) is None


@pytest.mark.proves("notes-1-packages-are-trimmed")
def test_a_package_keeps_what_it_says_and_what_it_runs() -> None:
    files = sent(Response(id="r", result=package(**{"LICENSE": LARGE})))["result"]["package"][
        "files"
    ]
    assert tuple(one["path"] for one in files) == FILES[:6]


@pytest.mark.proves("notes-1-too-large-is-failed")
@pytest.mark.parametrize(
    "result",
    [
        package(**{"SKILL.md": LARGE}),
        {"results": [LARGE]},
        LARGE,
        {"package": LARGE},
        {"package": {"files": LARGE}},
        {"package": {"files": [7, {"path": 7}, {"path": "SKILL.md", "content": LARGE}]}},
    ],
)
def test_a_result_that_cannot_be_made_smaller_has_failed(result: Any) -> None:
    answer = sent(Response(id="r", result=result))
    assert (answer["id"], answer["result"]) == ("r", None)
    assert answer["error"]["code"] == "RESULT_TOO_LARGE"
    resumed = sent(ResumeResponse(results={"r": entry(result)}))["results"]["r"]
    assert (resumed["status"], resumed["error"]["code"]) == ("failed", "RESULT_TOO_LARGE")


def test_results_are_kept_as_far_as_there_is_room() -> None:
    results = {
        "small": entry("x" * 100),
        "package": entry(package(**{"LICENSE": LARGE})),
        "large": entry(LARGE),
        "late": entry("x" * 100),
        "gone": {"status": "not_found"},
        "failed": {"status": "failed", "error": {"code": "C", "message": "m"}},
    }
    seen = sent(ResumeResponse(results=results))["results"]
    statuses = {name: one["status"] for name, one in seen.items()}
    assert statuses == {
        "small": "completed",
        "package": "completed",
        "large": "failed",
        "late": "completed",
        "gone": "not_found",
        "failed": "failed",
    }
    assert len(seen["package"]["data"]["package"]["files"]) == 6


@pytest.mark.parametrize("size", [1, 100, 1_000, 100_000])
def test_the_results_of_many_requests_always_fit(size: int) -> None:
    results = {f"request {number}": entry("x" * size) for number in range(200)}
    frame = frame_of(ResumeResponse(results=results), 50_000)
    assert frame is not None
    seen = msgspec.json.decode(frame)["results"]
    assert seen.keys() == results.keys()
    kept = [one for one in seen.values() if one["status"] == "completed"]
    assert len(kept) == {1: 200, 100: 200, 1_000: len(kept), 100_000: 0}[size]
    assert bool(kept) is (size < 50_000)


def test_the_oldest_of_a_history_is_left_out_first() -> None:
    history = [{"role": "user", "content": f"{number}" + "x" * 100} for number in range(100)]
    data = UserMessageData(message="now", history=history)
    shown = sent(UserMessage(session_id="s", data=data))["data"]
    assert shown["message"] == "now"
    assert shown["history"]
    assert shown["history"] == history[-len(shown["history"]) :]


def test_a_message_goes_without_history_rather_than_not_at_all() -> None:
    text = "x" * (ROOM * 2 // 3)
    data = UserMessageData(message=text, history=[{"role": "user", "content": text}])
    shown = sent(UserMessage(session_id="s", data=data))["data"]
    assert (shown["message"], shown["history"]) == (text, [])


def test_a_session_starts_without_its_snapshot() -> None:
    data = StartSessionData(session_id="s", runtime_type="semigraph", agent_config={"model": "m"})
    data.snapshot = {"checkpoint": LARGE}
    shown = sent(StartSession(data=data))["data"]
    assert "snapshot" not in shown
    assert shown["agent_config"] == {"model": "m"}


def test_a_change_goes_without_the_whole_configuration() -> None:
    data = {"temperature": 1, "session_id": "s", "agent_config": {"system_prompt": LARGE}}
    shown = sent(ConfigUpdate(session_id="s", data=data))
    assert shown["data"] == {"temperature": 1, "session_id": "s"}


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(session_id="s", data=UserMessageData(message=LARGE)),
        ConfigUpdate(session_id="s", data={"system_prompt": LARGE}),
        Ack(acked={LARGE: 1}),
        ResumeResponse(results={LARGE: {"status": "not_found"}}),
        Response(id=LARGE, result=1),
    ],
)
def test_what_fits_in_no_way_is_not_sent(message: Downlink) -> None:
    assert frame_of(message, ROOM) is None

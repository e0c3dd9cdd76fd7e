"""Files that came with a message, fetched again by who may see its session."""

import base64
from typing import Any

import pytest

from tests.unit.control.api.conftest import Api
from trunkline.control.access.auth import Principal

PIXEL = b"\x89PNG\r\n\x1a\n the rest"


def attached(name: str, mime: str, content: bytes | str) -> dict[str, Any]:
    text = content if isinstance(content, str) else base64.b64encode(content).decode()
    return {"name": name, "mime": mime, "base64": text}


FILES: list[Any] = [
    "no file",
    attached("pixel.png", "image/png", PIXEL),
    attached("页面.html", "text/html", b"<script>1</script>"),
    attached("inline.gif", "image/gif", "data:image/gif;base64,R0lGODlh"),
    attached("broken.png", "image/png", "not base64!"),
    {"name": "told of only", "mime": "image/png"},
]


async def new_session(api: Api) -> str:
    machine_id = await api.schedule(api.people.ann)
    return await api.make(api.people.ann, "/sessions", {"machine_id": machine_id})


async def said_in(api: Api, session_id: str) -> dict[str, Any]:
    """The message that readers see."""
    _, page = await api.call(api.people.ann, "GET", f"/sessions/{session_id}/events")
    events = [one["event"] for one in page["items"]]
    [said] = [one for one in events if one["type"] == "user_message"]
    return dict(said)


async def say_with_files(api: Api, session_id: str) -> dict[str, Any]:
    body = {"message": "Look", "metadata": {"attachments": FILES, "theirs": 1}}
    path = f"/sessions/{session_id}/messages"
    assert (await api.call(api.people.ann, "POST", path, body))[0] == 202
    return await said_in(api, session_id)


async def fetched(
    api: Api, who: Principal, session_id: str, message_id: str, number: int | str
) -> tuple[int, str, bytes, Any]:
    path = f"/api/v1/sessions/{session_id}/messages/{message_id}/attachments/{number}"
    async with await api.send(who, "GET", path) as answer:
        return answer.status, answer.content_type, await answer.read(), answer.headers


async def test_a_picture_is_fetched_as_it_came_and_what_could_run_is_for_saving(api: Api) -> None:
    session_id = await new_session(api)
    said = await say_with_files(api, session_id)
    names = [one["name"] for one in said["attachments"]]
    assert names == ["pixel.png", "页面.html", "inline.gif", "broken.png", "told of only"]
    ann, turn_id = api.people.ann, said["turn_id"]
    status, kind, content, headers = await fetched(api, ann, session_id, turn_id, 0)
    assert (status, kind, content) == (200, "image/png", PIXEL)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]
    status, kind, content, headers = await fetched(api, ann, session_id, turn_id, 1)
    assert (status, kind) == (200, "application/octet-stream")
    assert headers["Content-Disposition"].startswith("attachment")
    assert (await fetched(api, ann, session_id, turn_id, 2))[1:3] == ("image/gif", b"GIF89a")


@pytest.mark.parametrize("number", [3, 4, 5, -1, "x", "٣", "9" * 5000])
async def test_what_was_not_kept_or_never_came_is_not_there(api: Api, number: int | str) -> None:
    session_id = await new_session(api)
    said = await say_with_files(api, session_id)
    found = await fetched(api, api.people.ann, session_id, said["turn_id"], number)
    assert found[0] == 404


async def test_only_who_may_see_the_session_gets_them_and_only_by_its_own_message(
    api: Api,
) -> None:
    first, second = await new_session(api), await new_session(api)
    said = await say_with_files(api, first)
    turn_id = said["turn_id"]
    assert (await fetched(api, api.people.bob, first, turn_id, 0))[0] == 404
    assert (await fetched(api, api.people.ann, second, turn_id, 0))[0] == 404
    assert (await fetched(api, api.people.ann, first, first, 0))[0] == 404
    assert (await fetched(api, api.people.orla, first, turn_id, 0))[0] == 200
    assert (await api.call(api.people.ann, "DELETE", f"/sessions/{first}"))[0] == 204
    assert (await fetched(api, api.people.ann, first, turn_id, 0))[0] == 200, "closed, not gone"
    assert (await api.call(api.people.ann, "DELETE", f"/sessions/{first}?erase=true"))[0] == 204
    assert (await fetched(api, api.people.ann, first, turn_id, 0))[0] == 404


async def test_a_copy_of_the_session_has_them_too(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    said = await say_with_files(api, session_id)
    assert (await api.call(ann, "POST", f"/sessions/{session_id}/cancel"))[0] == 202
    status, copy = await api.call(ann, "POST", f"/sessions/{session_id}/fork")
    assert status == 201, copy
    copied = await said_in(api, copy["id"])
    assert copied["turn_id"] != said["turn_id"]
    assert (await fetched(api, ann, copy["id"], copied["turn_id"], 0))[2] == PIXEL
    assert (await fetched(api, ann, copy["id"], said["turn_id"], 0))[0] == 404
    _, snapshot = await api.call(ann, "GET", f"/sessions/{copy['id']}/snapshot")
    assert "theirs" not in snapshot["turns"][0]["metadata"], "what a machine was told is not said"

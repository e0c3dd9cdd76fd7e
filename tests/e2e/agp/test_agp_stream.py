"""A device's stream in the document's own form, which is not decoded, among messages that are."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.support.agp import new_device
from tests.support.control import TestUser

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


def _plain(prompt: dict[str, Any], text: str, msg_id: str) -> str:
    """003 §5: a `message_chunk`, in the document's order and without spaces."""
    asked = prompt["payload"]
    message = {
        "msg_id": msg_id,
        "guid": prompt["guid"],
        "user_id": prompt["user_id"],
        "method": "session.update",
        "payload": {
            "session_id": asked["session_id"],
            "prompt_id": asked["prompt_id"],
            "update_type": "message_chunk",
            "content": {"type": "text", "text": text},
        },
    }
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


async def test_pieces_in_either_form_arrive_once_and_in_order(user: TestUser) -> None:
    async with await new_device(user) as device:
        session_id = await user.session()
        async with user.reader(session_id) as reader:
            turn_id = await user.say(session_id, "go")
            prompt = await device.prompt("go")
            twice = str(uuid4())
            await device.send_text(_plain(prompt, "a ", twice))
            await device.text(prompt, "b ")
            await device.send_text(_plain(prompt, 'é"\n ', str(uuid4())))
            await device.send_text(_plain(prompt, "a ", twice))
            await device.send_text(json.dumps(json.loads(_plain(prompt, "a ", twice))))
            await device.send_text(_plain(prompt, "c", "m-1"))
            await device.respond(prompt)
            await device.send_text(_plain(prompt, "too late", str(uuid4())))
            await device.round_trip()
            await reader.until(
                lambda one: any(event.json["type"] == "execution_complete" for event in one.events)
            )
            said = [one.json for one in reader.events if one.json["type"] == "text_chunk"]
    assert [one["content"] for one in said] == ["a ", "b ", 'é"\n ', "c"]
    assert {one["turn_id"] for one in said} == {turn_id}
    assert said[0]["msg_id"] == twice
    end = reader.events[-1].json
    assert (end["type"], end["content"]) == ("execution_complete", 'a b é"\n c')

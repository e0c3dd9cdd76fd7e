"""Commands in the words of AGP: what is sent, under which id, to which app."""

from typing import Any
from uuid import UUID

import pytest

from trunkline.wire.agp.commands import (
    agent_app_of,
    cancel_of,
    checked_app,
    prompt_of,
)
from trunkline.wire.agp.messages import Cancel, Prompt
from trunkline.wire.commands import Say


def _say(turn_id: str = "turn", **metadata: Any) -> Say:
    return Say("session", turn_id, "do it", [{"role": "user", "content": "before"}], metadata)


def prompt(say: Say) -> Prompt:
    return prompt_of(say, "device_001", "user_123", "openclaw", attachments_max=20)


def cancel(turn_id: str) -> Cancel:
    return cancel_of("session", turn_id, "device_001", "user_123", "openclaw")


@pytest.mark.proves("003-3-msg-id-is-a-uuid")
def test_the_same_prompt_has_the_same_id_and_every_other_message_another() -> None:
    once, again = prompt(_say()), prompt(_say())
    assert once.msg_id == again.msg_id == str(UUID(once.msg_id))
    others = {
        prompt(_say("other")).msg_id,
        cancel("turn").msg_id,
        cancel("other").msg_id,
    }
    assert len(others - {once.msg_id}) == 3


@pytest.mark.parametrize("attachments", [None, 7, "x", {}, [], [7, None, "x"]])
def test_what_is_no_attachment_is_not_named(attachments: Any) -> None:
    content = prompt(_say(attachments=attachments)).payload.content
    assert [block.text for block in content] == ["do it"]


def test_hostile_attachments_are_named_within_bounds() -> None:
    wild = [{"name": "x\n" * 10_000, "mime": 7}] * 1000
    notes = prompt(_say(attachments=wild)).payload.content[1:]
    assert len(notes) == 20
    assert all("\n" not in (note.text or "") and len(note.text or "") < 700 for note in notes)


@pytest.mark.parametrize(
    ("config", "runtime", "is_openclaw", "app"),
    [
        ({}, "semigraph", False, None),
        ({}, "openclaw", False, "openclaw"),
        ({}, "semigraph", True, "openclaw"),
        ({"agent_app": "claude"}, "openclaw", True, "claude"),
        ({"agent_app": ""}, "semigraph", False, None),
        ({"agent_app": None}, "semigraph", False, None),
        ({"agent_app": ["claude"]}, "openclaw", False, "openclaw"),
    ],
)
def test_an_agent_names_its_app_or_its_runtime_does(
    config: dict[str, Any], runtime: str, is_openclaw: bool, app: str | None
) -> None:
    assert agent_app_of(config, runtime, is_openclaw=is_openclaw, chars_max=60) == app


@pytest.mark.parametrize("name", ["", "x" * 61, "a\x00b", "a\nb", 1, None, {}, []])
def test_what_cannot_be_an_app_s_name_is_none(name: Any) -> None:
    assert checked_app(name, 60) is None

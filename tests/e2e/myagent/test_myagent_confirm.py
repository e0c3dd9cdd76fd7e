"""Questions to a person over MyAgent: they are the control plane's approvals."""

import re
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.myagent import Json, MyAgentClient
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(client: MyAgentClient, vm: ScriptedVm, **question: Any) -> Json:
    """A session that asks something; returns the question as the client sees it."""
    session = await client.create_session()
    await client.say(session, "do it")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    fields = {
        "request_id": "r-1",
        "kind": "approve",
        "message": "Run rm?",
        "tool_name": "bash",
        "tool_input": {"command": "rm x"},
        **question,
    }
    await vm.event(session, type="approval_request", **fields)
    return await client.expect("agent.user_confirm", lambda one: one["session_id"] == session)


async def given(vm: ScriptedVm, confirm: Json) -> Json:
    """What the machine is told."""
    answer = await vm.expect(
        "approval_response", lambda one: one["session_id"] == confirm["session_id"]
    )
    data: Json = answer["data"]
    return data


@pytest.mark.proves(
    "001-1-user-confirmation",
    "001-2.1-step-id-of-a-question",
    "001-3.2-user-confirm",
)
async def test_a_question_has_the_documented_form(client: MyAgentClient, vm: ScriptedVm) -> None:
    confirm = await asked(client, vm)
    match = re.fullmatch(r"confirm_([0-9a-f-]{36})_bash", confirm["step_id"])
    assert match
    UUID(match[1])
    assert confirm["content"] == {"message": "Run rm?", "confirmation_type": "approve"}
    metadata = confirm["metadata"]
    assert metadata["tool_name"] == "bash"
    assert metadata["tool_args"] == {"command": "rm x"}
    assert metadata["requires_confirmation"] is True
    assert metadata["timeout_seconds"] == 300


async def test_a_question_s_own_uuid_and_time_are_kept(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    name = str(uuid4())
    confirm = await asked(client, vm, request_id=name, timeout_seconds=45)
    assert confirm["step_id"] == f"confirm_{name}_bash"
    assert confirm["metadata"]["timeout_seconds"] == 45
    await client.respond(confirm, True)
    assert (await given(vm, confirm))["request_id"] == name


@pytest.mark.parametrize(
    ("content", "confirmed"),
    [
        ({"confirmed": True}, True),
        ({"confirmed": False}, False),
        ({"approved": True}, True),
        ({"approved": False}, False),
        (True, True),
        (False, False),
        ("yes", True),
        ("No", False),
        ("同意", True),
        ("拒绝", False),
        ({"answer": "yes"}, True),
    ],
)
@pytest.mark.proves("001-3.1-response")
@pytest.mark.proves("notes-2-confirm-answers")
async def test_every_way_to_say_yes_or_no_reaches_the_machine(
    client: MyAgentClient, vm: ScriptedVm, content: Any, confirmed: bool
) -> None:
    confirm = await asked(client, vm)
    await client.respond(confirm, content)
    assert (await given(vm, confirm))["confirmed"] is confirmed


@pytest.mark.proves("001-4.3-confirmation-flow")
async def test_the_result_follows_the_answer(client: MyAgentClient, vm: ScriptedVm) -> None:
    confirm = await asked(client, vm)
    session = confirm["session_id"]
    await client.respond(confirm, {"confirmed": True})
    await given(vm, confirm)
    await vm.event(session, type="tool_call_complete", tool_name="bash", result="removed")
    result = await client.expect("agent.tool_result")
    assert (result["session_id"], result["content"]["result"]) == (session, "removed")


@pytest.mark.parametrize(
    ("kind", "content", "answer"),
    [
        ("input", "no", "no"),
        ("input", {"text": "blue"}, "blue"),
        ("select", {"answer": "b"}, "b"),
        ("select", ["a", "b"], ["a", "b"]),
    ],
)
@pytest.mark.proves("notes-2-confirm-content")
async def test_a_question_for_more_than_yes_gets_its_answer(
    client: MyAgentClient, vm: ScriptedVm, kind: str, content: Any, answer: Any
) -> None:
    confirm = await asked(client, vm, kind=kind, options=["a", "b"], message="Which?")
    assert confirm["content"]["confirmation_type"] == kind
    assert confirm["content"]["options"] == ["a", "b"]
    await client.respond(confirm, content)
    told = await given(vm, confirm)
    assert (told["confirmed"], told["answer"]) == (True, answer)


async def test_what_is_no_answer_leaves_the_question_open(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    confirm = await asked(client, vm)
    useless: list[Any] = ["perhaps", None, {}, {"confirmed": "perhaps"}, 7, []]
    for content in useless:
        await client.respond(confirm, content)
    await client.answered()
    faults = client.of_event("system.error")
    assert [one["metadata"]["error_code"] for one in faults][:6] == ["INVALID_REQUEST"] * 6
    await client.respond(confirm, "yes")
    assert (await given(vm, confirm))["confirmed"] is True


def is_settled(message: Json) -> bool:
    return "confirmation" in message["metadata"]


async def late_answer(client: MyAgentClient, confirm: Json) -> None:
    """It is taken without a word: a page takes an error for the end of the turn."""
    seen = len(client.received)
    for content in (True, "perhaps"):
        await client.respond(confirm, content)
    await client.answered()
    errors = [one["metadata"]["error_code"] for one in client.received[seen:]]
    assert errors == ["MISSING_FIELD"], "of `answered` alone"


@pytest.mark.proves("notes-2-silently-accepted")
async def test_an_answer_over_rest_is_seen_here(
    client: MyAgentClient, user: TestUser, vm: ScriptedVm
) -> None:
    confirm = await asked(client, vm)

    async def pending() -> list[Json]:
        found = (await user.ok("GET", "/approvals"))["items"]
        return [one for one in found if one["session_id"] == confirm["session_id"]]

    mine = (await eventually(pending))[0]
    await user.ok("POST", f"/approvals/{mine['id']}", {"confirmed": False})
    settled = await client.expect("agent.thinking", is_settled)
    assert settled["step_id"] == confirm["step_id"]
    assert settled["metadata"]["confirmation"] == "denied"
    await late_answer(client, confirm)


async def test_after_the_end_of_the_turn_nothing_looks_like_work(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    """The end settles the open question, which readers of the log are told after it."""
    confirm = await asked(client, vm)
    await vm.event(confirm["session_id"], type="execution_complete", content="never mind")
    await client.expect("agent.final_answer")
    await late_answer(client, confirm)
    assert client.received[-2]["event"] == "agent.final_answer", "then only what was asked for"


async def test_a_machine_that_gives_up_a_question_says_so(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    confirm = await asked(client, vm)
    await vm.event(
        confirm["session_id"],
        type="approval_resolved",
        request_id="r-1",
        confirmed=False,
        reason="timeout",
    )
    settled = await client.expect("agent.thinking", is_settled)
    assert settled["metadata"]["reason"] == "timeout"
    assert settled["metadata"]["confirmation"] == "denied"


@pytest.mark.parametrize(
    "step_id", ["confirm_", "step_1_bash", "x" * 5000, f"confirm_{UUID(int=7)}_bash", "confirm_é"]
)
async def test_a_step_that_asks_nothing_cannot_be_answered(
    client: MyAgentClient, vm: ScriptedVm, step_id: str
) -> None:
    confirm = await asked(client, vm)
    await client.respond({**confirm, "step_id": step_id}, True)
    fault = await client.fault("APPROVAL_NOT_FOUND")
    assert (fault["event"], fault["session_id"]) == ("agent.error", confirm["session_id"])

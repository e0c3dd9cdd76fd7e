"""What a program of another maker may do is asked of a person, whole, and answered once."""

import asyncio

import pytest

from tests.unit.execution.runtimes.hosted.conftest import Hosted, Scripted
from trunkline.execution.approvals import SHOWN_BYTES_MAX, Scope
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.hosted.turn import Permission, Turn
from trunkline.execution.session import ipc


class Asking:
    """A program that wants to run one command, and remembers what it was told."""

    def __init__(self, command: str = "ls", options: tuple[str, ...] = ()) -> None:
        self.said: list[Permission] = []
        self._input = {"command": command}
        self._options = options

    async def __call__(self, turn: Turn) -> str:
        self.said.append(
            await turn.permit(
                tool_name="bash", tool_input=self._input, tool_call_id="c1", options=self._options
            )
        )
        return "done"


def _careful(confirm: str = "dangerous") -> Json:
    return {"agent_config": {"confirm": confirm}}


@pytest.mark.parametrize(
    ("answer", "permission"),
    [
        ({"confirmed": True}, Permission(allowed=True)),
        ({"confirmed": False}, Permission(allowed=False, reason="the person said no")),
        ({"confirmed": False, "reason": "risky"}, Permission(allowed=False, reason="risky")),
        ({"confirmed": False, "answer": "try rm"}, Permission(allowed=False, reason="try rm")),
    ],
)
async def test_the_program_hears_what_the_person_said(
    hosted: Hosted, answer: Json, permission: Permission
) -> None:
    asking = Asking()
    await hosted.host(Scripted(asking), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    assert (question["kind"], question["tool_name"]) == ("approve", "bash")
    assert question["tool_input"] == {"command": "ls"}
    hosted.send(ipc.ApprovalResponse(data={"request_id": question["request_id"], **answer}))
    await hosted.end(turn)
    assert asking.said == [permission]


@pytest.mark.parametrize("scope", ["once", "session", "always"])
async def test_a_yes_says_for_how_long_it_is_meant(hosted: Hosted, scope: Scope) -> None:
    asking = Asking("ls | *", options=("Allow", "Never"))  # no rule is offered for it
    await hosted.host(Scripted(asking), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    assert question["options"] == ["Allow", "Never"]
    answer = {"confirmed": True, "scope": scope, "answer": "Allow"}
    hosted.send(ipc.ApprovalResponse(data={"request_id": question["request_id"], **answer}))
    await hosted.end(turn)
    assert (asking.said[0].scope, asking.said[0].option) == (scope, "Allow")


async def test_a_yes_for_always_is_a_rule_of_the_session_and_no_promise_of_the_program(
    hosted: Hosted,
) -> None:
    asking = Asking("npm publish")
    await hosted.host(Scripted(asking), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    assert question["rule"] == "bash(npm publish)"
    hosted.answer(question["request_id"], True, scope="always")
    await hosted.end(turn)
    await hosted.ask("again")
    assert [(one.allowed, one.scope) for one in asking.said] == [(True, "once")] * 2
    assert [one.becomes_rule for one in asking.said] == [True, False]
    hosted.send(ipc.ConfigUpdate(data={"rules": []}))
    turn = hosted.say("and again")
    question = await hosted.event("approval_request", 1)
    hosted.answer(question["request_id"], False)
    await hosted.end(turn)
    assert not asking.said[-1].allowed


@pytest.mark.parametrize("scope", ["session", "always"])
async def test_a_rule_that_comes_later_denies_what_a_person_had_allowed_for_longer(
    hosted: Hosted, scope: Scope
) -> None:
    ran: list[str] = []

    async def run(command: str) -> str:
        ran.append(command)
        return "done"

    async def play(turn: Turn) -> str:
        return await turn.use("bash", {"command": "npm publish"}, run)

    await hosted.host(Scripted(play), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    hosted.answer(question["request_id"], True, scope=scope)
    await hosted.end(turn)
    await hosted.ask("again")
    assert len(ran) == 2
    rules = [{"effect": "deny", "rule": "bash(npm publish)", "level": "user"}]
    hosted.send(ipc.ConfigUpdate(data={"rules": rules}))
    assert "a rule of the user denies it" in (await hosted.ask("and again"))["content"]
    assert len(ran) == 2
    assert len(hosted.of_type("approval_request")) == 1


async def test_a_tool_that_was_allowed_for_always_asks_again_when_that_is_taken_back(
    hosted: Hosted,
) -> None:
    async def run(command: str) -> str:
        return command

    async def play(turn: Turn) -> str:
        return await turn.use("bash", {"command": "npm publish"}, run)

    await hosted.host(Scripted(play), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    hosted.answer(question["request_id"], True, scope="always")
    await hosted.end(turn)
    hosted.send(ipc.ConfigUpdate(data={"rules": []}))
    turn = hosted.say("again")
    question = await hosted.event("approval_request", 1)
    hosted.answer(question["request_id"], False)
    assert (await hosted.end(turn))["content"] == "the person said no"


async def test_what_a_rule_denies_is_refused_without_a_question_and_audited(hosted: Hosted) -> None:
    asking = Asking("rm -r .")
    rules = [{"effect": "deny", "rule": "bash(rm *)", "level": "user"}]
    await hosted.host(Scripted(asking), rules=rules)
    await hosted.ask("hi")
    assert asking.said[0].allowed is False
    [entry] = hosted.reported("audit_log")
    assert entry["event"] == "tool_refused"
    assert entry["details"]["tool_input"] == {"command": "rm -r ."}
    assert "a rule of the user denies it: bash(rm *)" in entry["details"]["result"]


async def test_a_session_that_confirms_nothing_asks_nobody(hosted: Hosted) -> None:
    asking = Asking()
    await hosted.host(Scripted(asking), **_careful("never"))
    await hosted.ask("hi")
    assert asking.said == [Permission(allowed=True)]
    assert hosted.of_type("approval_request") == []


async def test_what_cannot_be_shown_whole_is_not_allowed(hosted: Hosted) -> None:
    asking = Asking("x" * (SHOWN_BYTES_MAX + 1))
    await hosted.host(Scripted(asking), **_careful())
    await hosted.ask("hi")
    assert not asking.said[0].allowed
    assert hosted.of_type("approval_request") == []


async def test_a_question_that_nobody_answers_is_a_no(hosted: Hosted) -> None:
    asking = Asking()
    await hosted.host(Scripted(asking), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    assert hosted.clock is not None
    await hosted.clock.pass_time(question["timeout_seconds"])
    await hosted.end(turn)
    assert asking.said == [Permission(allowed=False, reason="nobody answered in time")]
    assert (await hosted.event("approval_resolved"))["reason"] == "timeout"


async def test_two_questions_at_once_are_answered_apart(hosted: Hosted) -> None:
    said: list[Permission] = []

    async def play(turn: Turn) -> str:
        asked = (turn.permit(tool_name=name, tool_input={}) for name in ("first", "second"))
        said.extend(await asyncio.gather(*asked))
        return "done"

    await hosted.host(Scripted(play), **_careful())
    turn = hosted.say("hi")
    questions = [await hosted.event("approval_request", number) for number in (0, 1)]
    by_tool = {one["tool_name"]: one["request_id"] for one in questions}
    hosted.answer(by_tool["first"], False)
    await hosted.settled()
    hosted.answer(by_tool["second"], True)
    await hosted.end(turn)
    assert [one.allowed for one in said] == [False, True]


async def test_a_question_of_a_cancelled_turn_is_withdrawn(hosted: Hosted) -> None:
    await hosted.host(Scripted(Asking()), **_careful())
    turn = hosted.say("hi")
    question = await hosted.event("approval_request")
    hosted.send(ipc.Cancel())
    assert (await hosted.end(turn))["cancelled"] is True
    resolved = hosted.of_type("approval_resolved")
    assert [(one["request_id"], one["reason"]) for one in resolved] == [
        (question["request_id"], "cancelled")
    ]

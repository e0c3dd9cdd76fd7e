"""An agent's questions are asked of a person with its own options, and answered by one of them."""

import json
from typing import Any

import pytest

from tests.unit.execution.runtimes.acp.conftest import Acp
from trunkline.execution.approvals import SHOWN_BYTES_MAX
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.content import DIFF_CHARS_MAX, DIFFS_MAX
from trunkline.execution.runtimes.acp.permissions import CANCELLED, chosen, read_options
from trunkline.execution.runtimes.hosted.turn import Permission
from trunkline.execution.session import ipc

OPTIONS = [
    {"optionId": "y", "kind": "allow_once", "name": "Yes"},
    {"optionId": "ya", "kind": "allow_always", "name": "Always"},
    {"optionId": "n", "kind": "reject_once", "name": "No"},
    {"optionId": "na", "kind": "reject_always", "name": "Never"},
]
ASK = "session/request_permission"
CALL = {
    "toolCallId": "c",
    "kind": "edit",
    "title": "Write a.txt",
    "rawInput": {"path": "a.txt"},
    "content": [{"type": "diff", "path": "a.txt", "oldText": None, "newText": "one"}],
    "locations": [{"path": "a.txt", "line": 3}],
}


def question(call: Json = CALL, options: Any = OPTIONS) -> Json:
    return {"ask": [ASK, {"toolCall": call, "options": options}]}


def option_of(end: Json) -> Json:
    outcome: Json = json.loads(end["content"])["outcome"]
    return outcome


async def test_a_person_sees_all_that_will_be_done_and_the_agents_options(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    turn = acp.begin(question())
    asked = await acp.event("approval_request")
    assert asked["kind"] == "approve"
    assert asked["options"] == ["Yes", "Always", "No", "Never"]
    assert asked["tool_input"]["path"] == "a.txt"
    assert asked["tool_input"]["diffs"] == [{"path": "a.txt", "old_text": None, "new_text": "one"}]
    assert asked["tool_input"]["locations"] == ["a.txt:3"]
    assert asked["tool_call_id"] == "c"
    acp.answer(asked["request_id"], True)
    assert option_of(await acp.end(turn)) == {"outcome": "selected", "optionId": "y"}


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ({"confirmed": True}, "y"),
        ({"confirmed": False}, "n"),
        ({"confirmed": True, "scope": "session"}, "y"),
        ({"confirmed": True, "scope": "always"}, "y"),
        ({"confirmed": False, "scope": "always"}, "na"),
        ({"confirmed": True, "answer": "Always"}, "ya"),
        ({"confirmed": True, "scope": "session", "answer": "Always"}, "ya"),
        ({"confirmed": True, "answer": "No"}, "n"),
        ({"confirmed": False, "answer": "Always"}, "n"),
        ({"confirmed": False, "answer": "Never"}, "na"),
    ],
)
async def test_the_answer_chooses_one_of_the_agents_options(
    acp: Acp, answer: Json, option: str
) -> None:
    await acp.host(agent_config={"confirm": "always"})
    turn = acp.begin(question())
    asked = await acp.event("approval_request")
    acp.send(ipc.ApprovalResponse(data={"request_id": asked["request_id"], **answer}))
    assert option_of(await acp.end(turn))["optionId"] == option


RUN = {
    "toolCallId": "c",
    "kind": "execute",
    "title": "npm publish",
    "rawInput": {"command": "npm publish"},
}


@pytest.mark.parametrize("said", [{}, {"answer": "Always"}])
async def test_a_yes_for_always_is_a_rule_and_is_asked_about_again_when_that_is_taken_back(
    acp: Acp, said: Json
) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    turn = acp.begin(question(RUN))
    asked = await acp.event("approval_request")
    assert asked["rule"]
    answer = {"request_id": asked["request_id"], "confirmed": True, "scope": "always", **said}
    acp.send(ipc.ApprovalResponse(data=answer))
    assert option_of(await acp.end(turn))["optionId"] == "y"
    assert option_of(await acp.play(question(RUN)))["optionId"] == "y"
    acp.send(ipc.ConfigUpdate(data={"rules": []}))
    turn = acp.begin(question(RUN))
    asked = await acp.event("approval_request", 1)
    acp.answer(asked["request_id"], False)
    assert option_of(await acp.end(turn))["optionId"] == "n"


async def say_yes_for_the_session(acp: Acp, asked_for: Json, **answer: Any) -> str:
    """Which option the agent is told."""
    number = len(acp.of("approval_request"))
    turn = acp.begin(asked_for)
    asked = await acp.event("approval_request", number)
    said = {"request_id": asked["request_id"], "confirmed": True, "scope": "session", **answer}
    acp.send(ipc.ApprovalResponse(data=said))
    option: str = option_of(await acp.end(turn))["optionId"]
    return option


@pytest.mark.parametrize("answer", [{}, {"scope": "always"}, {"answer": "Yes"}])
async def test_a_yes_for_the_session_is_kept_here_and_a_rule_that_denies_comes_before_it(
    acp: Acp, answer: Json
) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    piped = {**RUN, "rawInput": {"command": "npm publish | tee *"}}  # no rule is offered for it
    assert await say_yes_for_the_session(acp, question(piped), **answer) == "y"
    assert "rule" not in acp.of("approval_request")[0]
    reworded = {**piped, "toolCallId": "d", "title": "Bring it out"}
    assert option_of(await acp.play(question(reworded)))["optionId"] == "y"
    assert len(acp.of("approval_request")) == 1
    rules = [{"effect": "deny", "rule": "bash(npm publish)", "level": "user"}]
    acp.send(ipc.ConfigUpdate(data={"rules": rules}))
    assert option_of(await acp.play(question(piped)))["optionId"] == "n"
    assert len(acp.of("approval_request")) == 1


async def test_a_yes_for_the_session_does_not_hold_in_plan_mode(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    assert await say_yes_for_the_session(acp, question()) == "y"
    acp.send(ipc.ConfigUpdate(data={"permission_mode": "plan"}))
    assert option_of(await acp.play(question()))["optionId"] == "n"


@pytest.mark.parametrize(
    "other",
    [
        {"rawInput": {"path": "b.txt"}},
        {"title": "Write b.txt"},
        {"kind": "delete"},
        {"content": [{"type": "diff", "path": "a.txt", "oldText": None, "newText": "two"}]},
    ],
)
async def test_a_yes_for_the_session_covers_no_other_call(acp: Acp, other: Json) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    assert await say_yes_for_the_session(acp, question()) == "y"
    turn = acp.begin(question({**CALL, "toolCallId": "d", **other}))
    asked = await acp.event("approval_request", 1)
    acp.answer(asked["request_id"], False)
    assert option_of(await acp.end(turn))["optionId"] == "n"


async def test_a_yes_for_the_session_outlives_its_process(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    assert await say_yes_for_the_session(acp, question()) == "y"
    assert await acp.stop() == 0
    await acp.host(agent_config={"confirm": "dangerous"})
    assert option_of(await acp.play(question()))["optionId"] == "y"
    assert len(acp.of("approval_request")) == 1


ALWAYS_ALONE = [one for one in OPTIONS if one["kind"] != "allow_once"]


@pytest.mark.parametrize(
    ("call", "options"),
    [
        ({"toolCallId": "c"}, OPTIONS),
        ({"toolCallId": "c", "kind": "edit", "rawInput": {"cwd": "/w"}}, OPTIONS),
        (CALL, ALWAYS_ALONE),
    ],
)
async def test_where_nothing_can_be_kept_here_a_yes_for_the_session_is_the_agents_to_keep(
    acp: Acp, call: Json, options: Any
) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    for _ in range(2):  # who asks again nonetheless is answered by a person again
        assert await say_yes_for_the_session(acp, question(call, options)) == "ya"


async def test_an_option_of_the_agents_that_was_named_is_not_kept_here(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    for _ in range(2):
        assert await say_yes_for_the_session(acp, question(), answer="Always") == "ya"


async def test_nobody_is_asked_where_confirm_is_never_and_nothing_is_allowed_for_good(
    acp: Acp,
) -> None:
    await acp.host(agent_config={"confirm": "never"})
    assert option_of(await acp.play(question()))["optionId"] == "y"
    assert acp.of("approval_request") == []


async def test_what_cannot_be_shown_whole_is_denied(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    huge = {**CALL, "rawInput": {"text": "x" * SHOWN_BYTES_MAX}}
    assert option_of(await acp.play(question(huge)))["optionId"] == "n"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "diff", "path": "a", "oldText": None, "newText": "x" * (DIFF_CHARS_MAX + 1)}],
        [{"type": "diff", "path": "a", "oldText": "x" * (DIFF_CHARS_MAX + 1), "newText": ""}],
        [{"type": "diff", "path": f"{n}", "newText": "x"} for n in range(DIFFS_MAX + 1)],
    ],
)
async def test_changes_that_would_be_shown_in_part_are_denied(acp: Acp, content: Any) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    end = await acp.play(question({**CALL, "content": content}))
    assert option_of(end)["optionId"] == "n"
    assert acp.of("approval_request") == []


async def test_a_command_of_many_lines_in_the_title_is_shown_whole(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    command = "echo hello\n" + "x" * 500 + "\nrm -r ."
    turn = acp.begin(question({"toolCallId": "c", "kind": "execute", "title": command}))
    asked = await acp.event("approval_request")
    assert asked["tool_input"] == {"title": command}
    acp.answer(asked["request_id"], False)
    await acp.end(turn)


async def test_what_is_told_beside_the_arguments_hides_none_of_them(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    given = {"text": "rm -r .", "title": "bad", "diffs": 1, "locations": 2}
    told = [{"type": "content", "content": {"type": "text", "text": "nothing bad"}}]
    turn = acp.begin(question({**CALL, "rawInput": given, "content": told}))
    asked = await acp.event("approval_request")
    assert {name: asked["tool_input"][name] for name in given} == given
    assert asked["tool_input"]["text (told)"] == "nothing bad"
    acp.answer(asked["request_id"], False)
    await acp.end(turn)


async def test_a_cancel_takes_the_question_back(acp: Acp) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    turn = acp.begin(question(), {"wait": True})
    await acp.event("approval_request")
    acp.send(ipc.Cancel())
    assert (await acp.end(turn))["cancelled"] is True
    [told] = acp.of("approval_resolved")
    assert told["reason"] == "cancelled"
    end = await acp.play({"say": "on"})
    assert end["content"] == "on"


@pytest.mark.parametrize("confirm", ["never", "dangerous"])
async def test_after_a_cancel_nothing_is_asked_and_nothing_allowed(acp: Acp, confirm: str) -> None:
    await acp.host(agent_config={"confirm": confirm})
    turn = acp.begin({"say": "Hi"}, {"wait": True}, question())
    await acp.event("text_chunk")
    acp.send(ipc.Cancel())
    assert (await acp.end(turn))["cancelled"] is True
    assert acp.of("approval_request") == []
    assert '"cancelled"' in acp.text


async def test_agents_of_the_older_generation_ask_too(acp: Acp) -> None:
    await acp.host("--older", agent_config={"confirm": "dangerous"})
    older = {"id": "t", "name": "bash", "input": {"command": "rm x"}}
    turn = acp.begin({"ask": [ASK, older]})
    asked = await acp.event("approval_request")
    assert (asked["tool_name"], asked["tool_input"]["command"]) == ("bash", "rm x")
    acp.answer(asked["request_id"], False)
    assert option_of(await acp.end(turn))["optionId"] == "reject_once"


@pytest.mark.parametrize("given", [None, 7, [], [None], [{"optionId": 7}], [{"name": "x"}], {}])
async def test_a_question_without_usable_options_can_be_answered(acp: Acp, given: Any) -> None:
    await acp.host(agent_config={"confirm": "dangerous"})
    turn = acp.begin(question(options=given))
    asked = await acp.event("approval_request")
    acp.answer(asked["request_id"], False)
    assert option_of(await acp.end(turn))["optionId"] == "reject_once"


def test_no_answer_is_made_up_where_the_agent_offers_none_that_fits() -> None:
    options = read_options([{"optionId": "ya", "kind": "allow_always", "name": "Always"}])
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert chosen(options, Permission(allowed=False)) == cancelled
    assert chosen(options, Permission(allowed=True)) == cancelled
    assert chosen(options, Permission(allowed=True, scope="always"))["outcome"]["optionId"] == "ya"


def test_of_two_options_with_one_name_the_first_is_meant() -> None:
    given = [
        {"optionId": "n", "kind": "reject_once", "name": "OK"},
        {"optionId": "y", "kind": "allow_always", "name": "OK"},
    ]
    options = read_options(given)
    picked = chosen(options, Permission(allowed=True, option="OK"))
    assert picked["outcome"]["optionId"] == "n"


def test_an_option_whose_id_is_beyond_all_bounds_is_not_offered_and_not_made_up() -> None:
    long = {"optionId": "y" * 10_000, "kind": "allow_once", "name": "Yes"}
    no = {"optionId": "n", "kind": "reject_once", "name": "No"}
    assert [one.name for one in read_options([long, no])] == ["No"]
    assert read_options([long]) == []
    assert chosen(read_options([long]), Permission(allowed=True)) == CANCELLED


FORM = "elicitation/create"


def form(**properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "ask": [FORM, {"mode": "form", "message": "For the release:", "requestedSchema": schema}]
    }


async def test_a_form_is_asked_in_words_field_by_field(acp: Acp) -> None:
    await acp.host()
    turn = acp.begin(
        form(
            name={"type": "string", "title": "Its name"},
            colour={"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            count={"type": "integer"},
            sure={"type": "boolean"},
        )
    )
    for number, answer in enumerate(("Zorro", "Red", "many", "3", "Yes")):
        asked = await acp.event("approval_request", number)
        assert asked["message"].startswith("For the release:\n")
        acp.answer(asked["request_id"], True, answer)
    content = {"name": "Zorro", "colour": "r", "count": 3, "sure": True}
    assert json.loads((await acp.end(turn))["content"]) == {"action": "accept", "content": content}
    kinds = [one["kind"] for one in acp.of("approval_request")]
    assert kinds == ["input", "select", "input", "input", "select"]


async def test_a_field_that_takes_several_choices_is_asked_for_several(acp: Acp) -> None:
    await acp.host()
    colours = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]
    colours.append({"const": "b", "title": "Blue"})
    field: Json = {"type": "array", "items": {"anyOf": colours}, "minItems": 2}
    turn = acp.begin(form(colours=field, words={"type": "array", "items": {"type": "string"}}))
    for number, answer in enumerate((["Red", "Mauve"], ["Red"], ["Blue", "Red"], "one, two")):
        asked = await acp.event("approval_request", number)
        assert asked.get("multi_select") is (True if number < 3 else None)
        acp.answer(asked["request_id"], True, answer)
    content = {"colours": ["r", "b"], "words": ["one", "two"]}
    assert json.loads((await acp.end(turn))["content"]) == {"action": "accept", "content": content}


@pytest.mark.parametrize(
    ("answer", "given"),
    [("Red", ["Red"]), ("Red, Blue", ["Red", "Blue"]), (["(leave it out)"], None), ([], None)],
)
async def test_several_choices_may_be_said_in_words_or_be_left_out(
    acp: Acp, answer: Any, given: Any
) -> None:
    await acp.host()
    asked_for = form(colours={"type": "array", "items": {"enum": ["Red", "Green", "Blue"]}})
    asked_for["ask"][1]["requestedSchema"]["required"] = []
    turn = acp.begin(asked_for)
    asked = await acp.event("approval_request")
    acp.answer(asked["request_id"], True, answer)
    content = {} if given is None else {"colours": given}
    assert json.loads((await acp.end(turn))["content"]) == {"action": "accept", "content": content}


async def test_who_declines_a_form_declines_all_of_it(acp: Acp) -> None:
    await acp.host()
    turn = acp.begin(form(name={"type": "string"}, more={"type": "string"}))
    asked = await acp.event("approval_request")
    acp.answer(asked["request_id"], False)
    assert json.loads((await acp.end(turn))["content"]) == {"action": "decline"}


async def test_an_address_to_go_to_is_no_question_in_words(acp: Acp) -> None:
    await acp.host()
    url = {"mode": "url", "url": "https://example.org", "message": "Go there"}
    end = await acp.end(acp.begin({"ask": [FORM, url]}))
    assert "only questions in words" in end["content"]


async def test_what_is_told_of_another_session_is_not_said_by_this_one(acp: Acp) -> None:
    await acp.host()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "No. "}}
    foreign = {"notify": ["session/update", {"sessionId": "other", "update": update}]}
    assert (await acp.end(acp.begin(foreign, {"say": "Yes."})))["content"] == "Yes."

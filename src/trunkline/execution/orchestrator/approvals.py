"""Which tool calls need a person's word, and what the answers mean for them.

`plan` reviews calls, `approve` reads the verdicts. What is asked is in the checkpoint; asking and
waiting are `execution/approvals.py`.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from trunkline.execution.approvals import Answer, can_be_shown
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import ToolCall
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.state import Question, Verdict
from trunkline.execution.tools.asking import AskUser
from trunkline.execution.tools.base import Tool

_COMMANDS = frozenset(("bash", "code_execution"))
"""Tools that can do anything: who allows one call of them has not seen the next."""
_TOO_LONG = (
    "not run: a person has to allow it, and it is too long or too deep to be shown whole. "
    "Do it in smaller parts."
)


def review(
    context: Context, calls: Sequence[ToolCall]
) -> tuple[dict[str, Verdict], list[Question]]:
    """What is decided of a step's calls at once, and what people have to be asked."""
    verdicts: dict[str, Verdict] = {}
    questions: list[Question] = []
    most = context.settings.max_tool_calls
    for number, call in enumerate(calls):
        tool = context.tool(call["name"])
        if number >= most:
            verdicts[call["id"]] = Verdict(refused=_too_many(most))
        elif tool is None:
            verdicts[call["id"]] = Verdict(refused=f"there is no tool named {call['name']!r}")
        elif problem := context.toolbox.check(tool, call["arguments"]):
            verdicts[call["id"]] = Verdict(refused=problem)
        elif _needs_a_person(context, tool, call) and _name(call) not in context.allowed:
            if can_be_shown(call["arguments"]):
                questions.append(_question(context, call))
            else:
                verdicts[call["id"]] = Verdict(refused=_TOO_LONG)
    return verdicts, questions


def verdicts_of(
    context: Context, questions: Sequence[Question], answers: Mapping[str, Answer]
) -> dict[str, Verdict]:
    """What the answers mean for the calls; a question without an answer is a no. A yes that is
    meant for longer holds for the rest of the session: for a command, that one and no other."""
    verdicts: dict[str, Verdict] = {}
    for question in questions:
        answer = answers.get(question["request_id"]) or Answer(confirmed=False, answer="")
        verdict = _verdict(question, answer)
        is_lasting = question["kind"] == "approve" and answer.get("scope", "once") != "once"
        if answer["confirmed"] and is_lasting:
            context.allowed.add(_name_of(question["tool_name"], question["tool_input"]))
        if verdict:
            verdicts[question["tool_call_id"]] = verdict
    return verdicts


def _verdict(question: Question, answer: Answer) -> Verdict:
    said = answer["answer"]
    if not answer["confirmed"]:
        reason = answer.get("reason", "")
        if reason == "timeout":
            return Verdict(refused="nobody answered in time, so it was not done", denied=True)
        said = reason or said
        refused = f"the person said no: {said}" if said else "the person said no"
        return Verdict(refused=refused, denied=True)
    if question["kind"] == "approve":
        return Verdict()
    return Verdict(answer=said or "(the person confirmed without words)")


def _name(call: ToolCall) -> str:
    return _name_of(call["name"], call["arguments"])


def _name_of(tool: str, arguments: Json) -> str:
    """What a lasting yes is for: a tool, or one call of it."""
    if tool not in _COMMANDS:
        return tool
    whole = msgspec.json.encode([tool, arguments], order="deterministic")
    return hashlib.sha256(whole).hexdigest()


def _needs_a_person(context: Context, tool: Tool, call: ToolCall) -> bool:
    if isinstance(tool, AskUser):
        return True
    match context.confirm:
        case "always":
            return True
        case "dangerous":
            return tool.is_dangerous(call["arguments"])
        case _:
            return False


def _question(context: Context, call: ToolCall) -> Question:
    patience = context.settings.approval_timeout_seconds
    asking = call["name"] == AskUser.name
    options = call["arguments"].get("options") if asking else None
    question = Question(
        request_id=uuid.uuid4().hex,
        tool_call_id=call["id"],
        tool_name=call["name"],
        tool_input=call["arguments"],
        message=call["arguments"]["question"] if asking else f"May I use {call['name']}?",
        kind=("select" if options else "input") if asking else "approve",
        timeout_seconds=patience,
        expires_at=context.clock() + patience,
    )
    if options:
        question["options"] = options
    if context.agent:
        question["agent"] = context.agent
        question["above"] = list(context.above)
        question["parent_tool_call_id"] = context.parent_tool_call_id
    return question


def _too_many(most: int) -> str:
    if not most:
        return "not run: no tools may be used here. Answer with what you have."
    return f"not run: at most {most} tool calls at once. Make the others in your next step."

"""Before tools run: which calls are refused, which need a person, and what the person said.

Called by `plan` and `approve`. Knows tools and settings, not how questions travel.
"""

import uuid
from collections.abc import Mapping, Sequence

from trunkline.execution.llm.base import ToolCall
from trunkline.execution.orchestrator.clipping import clipped
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.state import Answer, Question, Verdict
from trunkline.execution.tools.ask_user import AskUser
from trunkline.execution.tools.base import Tool


def review(
    context: Context, calls: Sequence[ToolCall], used: int
) -> tuple[dict[str, Verdict], list[Question]]:
    """`used`: tool calls that this turn has made before."""
    verdicts: dict[str, Verdict] = {}
    questions: list[Question] = []
    room = context.settings.max_tool_calls - used
    for number, call in enumerate(calls):
        tool = context.tool(call["name"])
        if number >= room:
            verdicts[call["id"]] = Verdict(refused=_spent(context.settings.max_tool_calls))
        elif tool is None:
            verdicts[call["id"]] = Verdict(refused=f"there is no tool named {call['name']!r}")
        elif problem := context.toolbox.check(call["name"], call["arguments"]):
            verdicts[call["id"]] = Verdict(refused=problem)
        elif _needs_a_person(context, tool, call):
            questions.append(_question(context, call))
    return verdicts, questions


def verdicts_of(questions: Sequence[Question], answers: Mapping[str, Answer]) -> dict[str, Verdict]:
    """What the answers mean for the calls; a question without an answer is a no."""
    verdicts: dict[str, Verdict] = {}
    for question in questions:
        answer = answers.get(question["request_id"]) or Answer(confirmed=False, answer="")
        verdict = _verdict(question, answer)
        if verdict:
            verdicts[question["tool_call_id"]] = verdict
    return verdicts


def _verdict(question: Question, answer: Answer) -> Verdict:
    said = answer["answer"]
    if not answer["confirmed"]:
        if answer.get("reason") == "timeout":
            return Verdict(refused="nobody answered in time, so it was not done")
        return Verdict(refused=f"the person said no: {said}" if said else "the person said no")
    if question["kind"] == "approve":
        return Verdict()
    return Verdict(answer=said or "(the person confirmed without words)")


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
        tool_input=clipped(call["arguments"]),
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
    return question


def _spent(budget: int) -> str:
    return (
        f"not run: a turn has at most {budget} tool calls. "
        "Answer with what you have; the person can ask you to go on."
    )

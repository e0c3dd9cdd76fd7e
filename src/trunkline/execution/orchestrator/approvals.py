"""Which tool calls need a person's word, and what the answers mean for them.

`plan` reviews calls, `approve` reads the verdicts. What is asked is in the checkpoint; asking and
waiting are `execution/approvals.py`.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from trunkline.execution.approvals import Answer, can_be_shown
from trunkline.execution.fence.access import Access
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import ToolCall
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.state import Question, Verdict
from trunkline.execution.permits import call_of, read_by
from trunkline.execution.tools.asking import AskUser
from trunkline.execution.tools.base import Tool
from trunkline.permissions.judging import Danger, Judgement, edits_in_workspace, judge
from trunkline.permissions.modes import FREE_NEEDS_A_FENCE
from trunkline.permissions.reading import simple_only_reads
from trunkline.permissions.shell import Simple

_COMMANDS = frozenset(("bash", "code_execution"))
"""Tools that can do anything: who allows one call of them has not seen the next."""
_BY_HOST = "web_fetch"
"""Who allows one host has not seen the next."""
_TOO_LONG = (
    "not run: a person has to allow it, and it is too long or too deep to be shown whole. "
    "Do it in smaller parts."
)

_NOBODY_ASKED = (
    "not done: more than the fence allows is a person's to allow, and this session asks nobody"
)


def review(
    context: Context, calls: Sequence[ToolCall], outside: Sequence[str] = ()
) -> tuple[dict[str, Verdict], list[Question]]:
    """What is decided of a step's calls at once, and what people have to be asked. `outside`: what
    has brought in something that did not come from the session's user."""
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
        elif isinstance(tool, AskUser) and can_be_shown(call["arguments"]):
            questions.append(_question(context, call))
        elif isinstance(tool, AskUser):
            verdicts[call["id"]] = Verdict(refused=_TOO_LONG)
        else:
            judgement = _judged(context, tool, call, outside)
            if tool.leaves_fence and judgement.outcome != "refuse":
                judgement = _outside_the_fence(context, call["arguments"])
            match judgement.outcome:
                case "refuse":
                    verdicts[call["id"]] = Verdict(refused=judgement.why, denied=True)
                case "ask" if can_be_shown(call["arguments"]):
                    questions.append(_question(context, call, judgement))
                case "ask":
                    verdicts[call["id"]] = Verdict(refused=_TOO_LONG)
                case "run":
                    pass
    return verdicts, questions


def verdicts_of(
    context: Context, questions: Sequence[Question], answers: Mapping[str, Answer]
) -> dict[str, Verdict]:
    """What the answers mean for the calls; a question without an answer is a no. A yes that is
    meant for longer holds for the rest of the session: for a command, that one and no other. One
    that becomes a rule holds until that is here."""
    verdicts: dict[str, Verdict] = {}
    for question in questions:
        answer = answers.get(question["request_id"]) or Answer(confirmed=False, answer="")
        verdict = _verdict(question, answer)
        tool = context.tool(question["tool_name"])
        if tool is not None and tool.leaves_fence and not verdict:
            verdicts[question["tool_call_id"]] = Verdict(granted=question["request_id"])
            continue  # each command with its access is allowed by itself, and once
        scope = answer.get("scope", "once") if question["kind"] == "approve" else "once"
        if answer["confirmed"] and scope == "always" and "rule" in question:
            context.permits.allow(question["rule"])
        elif answer["confirmed"] and scope != "once":
            context.allowed.add(_name_of(context, question["tool_name"], question["tool_input"]))
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


def _name_of(context: Context, name: str, arguments: Json) -> str:
    """What a lasting yes is for: a tool, one host, or one call. Of a repository's own files one
    call: what git reads there may name programs to run."""
    tool = context.tool(name)
    if tool is not None and name not in _COMMANDS:
        rule_name = tool.rule_name(arguments)
        call = call_of(rule_name, arguments, context.workspace, tool.paths(arguments))
        if name == _BY_HOST:
            return f"{name}(domain:{call.subjects[0].value})"
        if "edit_file" not in call.names or edits_in_workspace(call):
            return rule_name
    whole = msgspec.json.encode([name, arguments], order="deterministic")
    return hashlib.sha256(whole).hexdigest()


def _judged(context: Context, tool: Tool, call: ToolCall, outside: Sequence[str]) -> Judgement:
    arguments, place = call["arguments"], tool.place()

    def only_reads(part: Simple) -> bool:
        return place is not None and simple_only_reads(part, place)

    paths, is_dangerous, reads = tool.paths(arguments), tool.is_dangerous(arguments), None
    if place is not None and context.permits.guards_reading:
        reads = read_by(arguments["command"], context.workspace, is_all=not is_dangerous)
    return judge(
        call_of(tool.rule_name(arguments), arguments, context.workspace, paths),
        Danger(changes=is_dangerous, reveals=tool.reveals, keeps=tool.keeps),
        context.permits.rules,
        context.care,
        outside=list(dict.fromkeys([*outside, *context.permits.outside])),
        is_allowed=_name_of(context, call["name"], arguments) in context.allowed,
        only_reads=only_reads,
        reads=reads,
    )


def _outside_the_fence(context: Context, arguments: Json) -> Judgement:
    """No rule and no mode allows that; `free` holds inside of the fence only."""
    is_free = "free" in (context.settings.mode, context.session_mode)
    if context.care == "nothing" and not is_free:
        return Judgement(outcome="refuse", why=_NOBODY_ASKED)
    access = msgspec.convert(arguments, Access)
    return Judgement(outcome="ask", why=f"The fence does not allow it to {access.told}.")


def _question(context: Context, call: ToolCall, judgement: Judgement | None = None) -> Question:
    patience = context.settings.approval_timeout_seconds
    asking = call["name"] == AskUser.name
    options = call["arguments"].get("options") if asking else None
    question = Question(
        request_id=uuid.uuid4().hex,
        tool_call_id=call["id"],
        tool_name=call["name"],
        tool_input=call["arguments"],
        message=call["arguments"]["question"] if asking else _message(context, call, judgement),
        kind=("select" if options else "input") if asking else "approve",
        timeout_seconds=patience,
        expires_at=context.clock() + patience,
    )
    if options:
        question["options"] = options
    if judgement is not None and judgement.rule is not None:
        question["rule"] = judgement.rule
    if context.agent:
        question["agent"] = context.agent
        question["above"] = list(context.above)
        question["parent_tool_call_id"] = context.parent_tool_call_id
    return question


def _message(context: Context, call: ToolCall, judgement: Judgement | None) -> str:
    lines = [f"May I use {call['name']}?"]
    if judgement is not None and judgement.why:
        lines.append(judgement.why[0].upper() + judgement.why[1:])
    if not context.permits.fenced and "free" in (context.settings.mode, context.session_mode):
        lines.append(FREE_NEEDS_A_FENCE[0].upper() + FREE_NEEDS_A_FENCE[1:] + ".")
    return "\n".join(lines)


def _too_many(most: int) -> str:
    if not most:
        return "not run: no tools may be used here. Answer with what you have."
    return f"not run: at most {most} tool calls at once. Make the others in your next step."

"""One call: run it, ask a person first, or refuse it. Rules first, then how careful the session is,
then whether it has read what did not come from its user."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from trunkline.permissions.decision import Decided, decide, guarded
from trunkline.permissions.modes import Care
from trunkline.permissions.proposals import proposed
from trunkline.permissions.rules import Rule
from trunkline.permissions.shell import Simple
from trunkline.permissions.subjects import Call

PLAN = (
    "not done: this session only plans (permission_mode: plan), so nothing is changed. "
    "Say what you would do; the person can choose another mode."
)
_OUTSIDE = "It would pass on or keep something after this session has read from outside"


class Danger(msgspec.Struct, frozen=True, kw_only=True):
    """What a call can do, as far as its tool knows."""

    changes: bool = False
    """It can change or reveal something."""
    reveals: bool = False
    """What it is given leaves the machine: to the web, to a remote MCP server."""
    keeps: bool = False
    """Later sessions read what it writes."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """`why`: for the model where it is refused, for the person where it is asked. `rule`: what
    "always" will mean, where that is offered."""

    outcome: Literal["run", "ask", "refuse"]
    why: str = ""
    rule: str | None = None


RUN = Judgement(outcome="run")


def judge(
    call: Call,
    danger: Danger,
    rules: Sequence[Rule],
    care: Care,
    *,
    outside: Sequence[str] = (),
    is_allowed: bool = False,
    only_reads: Callable[[Simple], bool] | None = None,
    reads: Call | None = None,
) -> Judgement:
    """`outside`: the tools that have brought in what did not come from the session's user.
    `is_allowed`: a person has said yes to such calls, for this session. `reads`: the files that a
    command is seen to read, which rules for files guard too."""
    decided = decide(rules, call, only_reads)
    if reads is not None and (decided is None or decided.effect != "deny"):
        decided = guarded(rules, reads) or decided
    effect = None if decided is None else decided.effect
    if decided is not None and effect == "deny":
        return Judgement(outcome="refuse", why=f"not done: {told(decided)}")
    if care == "plan" and (danger.changes or danger.keeps):
        return Judgement(outcome="refuse", why=PLAN)
    if is_allowed or effect == "allow":
        return RUN
    if decided is not None:  # a rule asks: one that allows would not hold against it
        return Judgement(outcome="ask", why=told(decided))
    if _is_asked_about(call, danger, care):
        return Judgement(outcome="ask", rule=proposed(call))
    if care != "nothing" and outside and (danger.reveals or danger.keeps):
        why = f"{_OUTSIDE} ({', '.join(outside[:5])})."
        return Judgement(outcome="ask", why=why, rule=proposed(call))
    return RUN


def _is_asked_about(call: Call, danger: Danger, care: Care) -> bool:
    match care:
        case "everything":
            return True
        case "dangerous":
            return danger.changes
        case "commands":
            return danger.changes and not edits_in_workspace(call)
        case _:
            return False


def edits_in_workspace(call: Call) -> bool:
    """Whether it changes files of the workspace alone, and none of a repository's own: what git
    reads there may name programs to run."""
    return bool("edit_file" in call.names and call.subjects) and all(
        one.value is not None
        and not one.value.startswith("/")
        and ".git" not in one.value.lower().split("/")
        for one in call.subjects
    )


def told(decided: Decided) -> str:
    """Which rule holds, in words."""
    if decided.rule is None:
        return "a rule may be meant for it, and what it would run cannot be told."
    verb = {"deny": "denies it", "ask": "asks first", "allow": "allows it"}[decided.effect]
    return f"a rule of the {decided.rule.level} {verb}: {decided.rule.text}"

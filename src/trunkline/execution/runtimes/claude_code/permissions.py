"""What Claude Code asks before it does something, and what a person's yes covers. Pure.

A yes for the session covers this very call from then on, and what the program itself suggests with
it; it is kept with the session. So does one for always where no rule of ours was offered for it.
Nothing is written to the program's settings.
"""

from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.claude_code.output import text_of
from trunkline.execution.runtimes.hosted.allowed_calls import digest
from trunkline.execution.texts import shortened

RULES_MAX = 500
ASKING = "AskUserQuestion"
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_ACCEPT_EDITS: Json = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
_RULE_CHARS_MAX = 2_000
_RULES_SHOWN_MAX = 50
_QUESTIONS_MAX = 10
_OPTIONS_MAX = 20


class Granted(msgspec.Struct, kw_only=True):
    """What people have allowed for this session; saved with it."""

    rules: list[str] = []
    """In the program's own form: `Bash(npm test *)`."""
    calls: list[str] = []
    """Digests of calls that may be made again."""
    edits: bool = False

    def covers(self, tool: str, given: Json) -> bool:
        return digest(tool, given) in self.calls

    def add(self, tool: str, given: Json, suggested: list[Json]) -> None:
        self.calls = [*self.calls, digest(tool, given)][-RULES_MAX:]
        found = [rule for one in suggested for rule in _rules(one)]
        self.rules = list(dict.fromkeys([*self.rules, *found]))[-RULES_MAX:]
        self.edits = self.edits or _ACCEPT_EDITS in suggested


def suggested(request: Json) -> list[Json]:
    """What the program would allow from now on, for the session only: its rules; for a change of a
    file all such changes, if it says so. Never a folder or a mode besides, nor more rules than a
    person is shown."""
    given = request.get("permission_suggestions")
    found: list[Json] = []
    room = _RULES_SHOWN_MAX
    for one in given if isinstance(given, list) else []:
        if not isinstance(one, dict):
            continue
        if one.get("type") == "addRules" and one.get("behavior") == "allow":
            rules = [rule for rule in _listed(one) if _rule(rule)][:room]
            room -= len(rules)
            if rules:
                kept = {"type": "addRules", "behavior": "allow", "rules": rules}
                found.append({**kept, "destination": "session"})
        elif one.get("mode") == "acceptEdits" and request.get("tool_name") in _EDITS:
            found.append(_ACCEPT_EDITS)
    return found


def message(request: Json) -> str:
    """What a person reads above the call itself, which is shown whole."""
    tool = shortened(text_of(request.get("tool_name")), 200)
    lines = [f"May I use {tool}?"]
    if reason := text_of(request.get("decision_reason")):
        lines.append(shortened(reason, 500))
    more = suggested(request)
    rules = [rule for one in more for rule in _rules(one)]
    if _ACCEPT_EDITS in more:
        rules.append("all changes of files in the working folder")
    if rules:
        lines.append(f"A yes for the session also covers: {', '.join(rules)}")
    return "\n".join(lines)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One of those that the program asks in words."""

    key: str
    message: str
    options: list[str]
    multi_select: bool = False


def questions(given: Json) -> list[Question]:
    listed = given.get("questions")
    asked = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [_question(one) for one in asked[:_QUESTIONS_MAX] if text_of(one.get("question"))]


def _question(given: Json) -> Question:
    listed = given.get("options")
    options = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    options = [one for one in options if text_of(one.get("label"))][:_OPTIONS_MAX]
    about = [
        f"- {one['label']}: {text_of(one.get('description'))}"
        for one in options
        if text_of(one.get("description"))
    ]
    return Question(
        key=given["question"],
        message="\n".join([given["question"], *about]),
        options=[one["label"] for one in options],
        multi_select=given.get("multiSelect") is True,
    )


def _rules(suggestion: Json) -> list[str]:
    return [text for text in map(_rule, _listed(suggestion)) if text]


def _listed(suggestion: Json) -> list[Any]:
    given: Any = suggestion.get("rules")
    return given if isinstance(given, list) else []


def _rule(given: Any) -> str:
    """As people read it; empty for one that is none, or too long to be read."""
    tool = text_of(given.get("toolName")) if isinstance(given, dict) else ""
    content = text_of(given.get("ruleContent")) if tool else ""
    text = f"{tool}({content})" if content else tool
    return text if len(text) <= _RULE_CHARS_MAX else ""

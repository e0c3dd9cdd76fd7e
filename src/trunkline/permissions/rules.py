"""Rules: `allow`, `ask` or `deny`, for a tool or for some calls of it.

`bash`, `mcp__x__*`, `bash(git status *)`, `edit_file(src/**)`, `web_fetch(domain:example.org)`.
What a pattern is compared with is a call's subject (`subjects.py`). docs/guide/permissions.md is
for people.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import msgspec

from trunkline.permissions.names import canonical
from trunkline.permissions.patterns import Pattern, kind_of

Effect = Literal["deny", "ask", "allow"]
"""Strongest first: where rules of several effects match a call, the first of these holds."""
Level = Literal["org", "user", "machine", "agent", "session"]

RULE_CHARS_MAX = 1_000
RULES_MAX = 1_000  # of one session, all levels together

_FORM = re.compile(r"(?P<tool>[A-Za-z0-9_.*-]{1,128})(?:\((?P<pattern>.*)\))?", re.DOTALL)
_MCP = "mcp__"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One that was read: `text` in the form that people write."""

    effect: Effect
    tool: str
    pattern: Pattern | None = None
    level: str = "user"

    @property
    def text(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern.text})"


class Given(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule as it travels."""

    effect: Effect
    rule: str
    level: str = "user"


def read(effect: Effect, text: str, level: str = "user") -> Rule:
    """Raises ValueError, in words for whoever wrote it."""
    if effect not in get_args(Effect):
        raise ValueError(f"a rule says {', '.join(get_args(Effect))}")
    if len(text) > RULE_CHARS_MAX:
        raise ValueError(f"a rule has at most {RULE_CHARS_MAX} characters")
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ValueError("a rule is a tool's name, perhaps with a pattern: bash(git status *)")
    tool, pattern = canonical(form["tool"]), form["pattern"]
    if pattern is None:
        return Rule(effect=effect, tool=tool, level=level)
    kind = kind_of(tool)
    if kind is None:
        raise ValueError(f"{tool} takes no pattern: a rule for it is its name alone")
    return Rule(effect=effect, tool=tool, pattern=Pattern.read(kind, pattern), level=level)


def read_all(given: Iterable[Any], problems: list[str]) -> list[Rule]:
    """Those that can be read; what is wrong with the others goes to `problems`."""
    found: list[Rule] = []
    for one in given:
        if len(found) >= RULES_MAX:
            problems.append(f"Only the first {RULES_MAX} rules hold.")
            break
        try:
            rule = msgspec.convert(one, Given)
            found.append(read(rule.effect, rule.rule, rule.level))
        except ValueError as error:
            problems.append(f"A rule cannot be read and does not hold: {error}")
    return found


def names_match(rule: str, names: Sequence[str]) -> bool:
    """Whether a rule is for a tool of one of these names. `mcp__x` is all of the server x."""
    return any(
        _name_matches(rule, name)
        or (rule.startswith(_MCP) and "*" not in rule and name.startswith(f"{rule}__"))
        for name in names
    )


def _name_matches(rule: str, name: str) -> bool:
    if "*" not in rule:
        return rule == name
    return re.fullmatch(".*".join(map(re.escape, rule.split("*"))), name) is not None

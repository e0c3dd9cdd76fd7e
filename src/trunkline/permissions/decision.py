"""What rules say of a call. `deny` holds before `ask`, and `ask` before `allow`, whoever wrote them
and however narrow they are.

A `deny` or `ask` holds when any part of the call matches, an `allow` when every part does. For a
command, that is every program in it: `bash(git status *)` does not allow `git status; rm -rf .`.
What is not understood is never allowed by a pattern, and asked about where a pattern of a `deny` or
an `ask` might have been meant.
"""

from collections.abc import Callable, Sequence

import msgspec

from trunkline.permissions.names import words_of
from trunkline.permissions.patterns import Pattern
from trunkline.permissions.programs import programs_of
from trunkline.permissions.rules import Effect, Rule, names_match
from trunkline.permissions.shell import Simple, parse
from trunkline.permissions.subjects import Call, Subject

_MOVES = words_of("cd popd pushd")


class Decided(msgspec.Struct, frozen=True):
    """`rule`: the one that holds; None where a call was not understood."""

    effect: Effect
    rule: Rule | None = None


def decide(
    rules: Sequence[Rule], call: Call, only_reads: Callable[[Simple], bool] | None = None
) -> Decided | None:
    """None: no rule is for it. `only_reads`: of a part of a command that needs no rule."""
    own = [rule for rule in rules if names_match(rule.tool, call.names)]
    for effect in ("deny", "ask"):
        for rule in own:
            if rule.effect == effect and _hits(rule, call):
                return Decided(rule.effect, rule)
    guards = [one for one in own if one.effect != "allow" and one.pattern is not None]
    if guards and any(not _is_understood(one) for one in call.subjects):
        return Decided("ask")
    allows = [rule for rule in own if rule.effect == "allow"]
    for rule in allows:
        if rule.pattern is None:
            return Decided("allow", rule)
    patterns = [rule.pattern for rule in allows if rule.pattern is not None]
    if not patterns or not call.subjects:
        return None
    if all(_is_allowed(patterns, one, only_reads) for one in call.subjects):
        return Decided("allow", allows[0])
    return None


def guarded(rules: Sequence[Rule], call: Call) -> Decided | None:
    """What is denied or asked about of a call that another one amounts to."""
    return decide([rule for rule in rules if rule.effect != "allow"], call)


def _hits(rule: Rule, call: Call) -> bool:
    if rule.pattern is None:
        return True
    return any(_touches(rule.pattern, subject) for subject in call.subjects)


def _touches(pattern: Pattern, subject: Subject) -> bool:
    """For a `deny` or an `ask`: rather once too often."""
    if subject.kind != pattern.kind or subject.value is None:
        return False
    match subject.kind:
        case "command":
            is_whole = pattern.text == subject.value.strip()
            return is_whole or any(map(pattern.matches_words, programs_of(subject.value).seen))
        case "path":
            return any(map(pattern.touches_path, (subject.value, *subject.also)))
        case "domain":
            return pattern.matches_host(subject.value)


def _is_understood(subject: Subject) -> bool:
    if subject.value is None:
        return False
    return subject.kind != "command" or programs_of(subject.value).is_all


def _is_allowed(
    patterns: Sequence[Pattern], subject: Subject, only_reads: Callable[[Simple], bool] | None
) -> bool:
    fitting = [one for one in patterns if one.kind == subject.kind]
    if subject.value is None or not fitting:
        return False
    match subject.kind:
        case "command":
            return _command_is_allowed(fitting, subject.value, only_reads)
        case "path":
            path = subject.value
            return any(one.covers_path(path) for one in fitting)
        case "domain":
            name = subject.value
            return any(one.matches_host(name) for one in fitting)


def _command_is_allowed(
    patterns: Sequence[Pattern], text: str, only_reads: Callable[[Simple], bool] | None
) -> bool:
    if any(one.text == text.strip() and "*" not in one.text for one in patterns):
        return True
    parts = parse(text)
    if parts is None:
        return False
    named = [part for part in parts if _is_named(patterns, part)]
    if any(part.texts[0] in _MOVES for part in named):
        only_reads = None  # what it would read lies elsewhere than it is looked for
    return bool(named) and all(
        part in named or (only_reads is not None and only_reads(part)) for part in parts
    )


def _is_named(patterns: Sequence[Pattern], part: Simple) -> bool:
    if part.writes or part.reads or part.words[0].is_glob:
        return False
    words = [*part.assignments, *part.texts]
    return any(one.matches_words(words) for one in patterns)

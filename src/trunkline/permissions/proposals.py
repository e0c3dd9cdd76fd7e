"""What "always" will mean: the rule that a person is shown with the question, before the answer."""

from pathlib import PurePosixPath

from trunkline.permissions.names import words_of
from trunkline.permissions.rules import RULE_CHARS_MAX, read
from trunkline.permissions.shell import parse
from trunkline.permissions.subjects import Call

_WITH_PARTS = words_of(
    "apt brew bun cargo composer conda deno docker dotnet gh git go gradle helm just kubectl make"
    " mvn npm nx pip pip3 pnpm poetry pre-commit rails rake terraform tox uv yarn"
)
"""Programs whose second word says what is done: it is meant, with whatever follows."""
_STARTS_ANYTHING = words_of("exec run x dlx -c -m")
"""Second words behind which anything may stand: then the third is meant too."""
_NEVER = frozenset(("code_execution", "ask_user"))


def proposed(call: Call) -> str | None:
    """A rule for calls like this one; None where "always" is not offered."""
    name = call.names[0]
    if name in _NEVER or len(call.subjects) > 1:
        return None
    text = name if not call.subjects else _with_pattern(name, call)
    if text is None or len(text) > RULE_CHARS_MAX:
        return None
    try:
        return read("allow", text).text
    except ValueError:
        return None


def _with_pattern(name: str, call: Call) -> str | None:
    subject = call.subjects[0]
    if subject.value is None:
        return None
    match subject.kind:
        case "command":
            pattern = _of_command(subject.value.strip())
        case "path":
            pattern = _of_path(subject.value)
        case "domain":
            pattern = f"domain:{subject.value}"
    return None if pattern is None else f"{name}({pattern})"


def _of_command(text: str) -> str | None:
    parts = parse(text)
    if parts is None or "*" in text or "\n" in text:
        return None
    if len(parts) == 1 and not parts[0].assignments and not parts[0].writes:
        words = parts[0].texts
        if len(words) > 2 and words[0] in _WITH_PARTS and not parts[0].reads:
            kept = words[:3] if words[1] in _STARTS_ANYTHING else words[:2]
            if all(_is_plain(word) for word in kept):
                return f"{' '.join(kept)} *"
    return text


def _is_plain(word: str) -> bool:
    return bool(word) and not word.startswith("-") and not any(one in " *\t\n" for one in word)


def _of_path(path: str) -> str | None:
    """Everything in the same folder; a file of the workspace's own folder alone."""
    if "*" in path or "?" in path:
        return None
    parent = str(PurePosixPath(path).parent)
    return f"./{path}" if parent == "." else f"{parent}/**"

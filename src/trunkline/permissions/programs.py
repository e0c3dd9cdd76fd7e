"""Which programs a command is seen to run, also through others: `env rm`, `bash -c "rm x"`.

For rules that deny or ask. Nobody can see all of them (`python -c …`): the fence is the bound.
"""

from functools import lru_cache
from pathlib import PurePosixPath

import msgspec

from trunkline.permissions.names import words_of
from trunkline.permissions.shell import parse

_PROGRAMS_MAX = 500
_WORDS_MAX = 64  # that are looked at of a program that starts another

_SHELLS = words_of("ash bash busybox dash eval ksh sh zsh")
_STARTERS = words_of(
    "builtin chroot command doas env exec find flock ionice nice nohup parallel setsid stdbuf su"
    " sudo timeout unshare watch xargs"
)


class Programs(msgspec.Struct, frozen=True):
    """`seen`: the words of each; `is_all`: nothing in the command was left that may be one more."""

    seen: tuple[list[str], ...]
    is_all: bool


@lru_cache(maxsize=64)
def programs_of(command: str) -> Programs:
    seen: list[list[str]] = []
    is_all = True
    left, known = [command], {command}
    while left:
        parts = parse(left.pop())
        is_all = is_all and parts is not None
        for part in parts or ():
            is_all = is_all and not part.words[0].is_glob and not _is_too_long(part.texts)
            for words in _started(part.texts):
                seen += _spellings(words)
                inner = _scripts(words)
                left += [one for one in inner if one not in known]
                known.update(inner)
        if len(seen) > _PROGRAMS_MAX:
            return Programs(tuple(seen), False)
    return Programs(tuple(seen), is_all)


def _is_too_long(words: list[str]) -> bool:
    starts = PurePosixPath(words[0]).name in _STARTERS | _SHELLS
    return starts and len(words) > _WORDS_MAX


def _started(words: list[str]) -> list[list[str]]:
    """The program itself, and what it may start: whatever follows."""
    if PurePosixPath(words[0]).name not in _STARTERS:
        return [words]
    some = words[:_WORDS_MAX]
    return [some[start:] for start in range(len(some))]


def _spellings(words: list[str]) -> list[list[str]]:
    name = PurePosixPath(words[0]).name
    return [words] if name == words[0] else [words, [name, *words[1:]]]


def _scripts(words: list[str]) -> list[str]:
    """What a shell is given to run."""
    if PurePosixPath(words[0]).name not in _SHELLS:
        return []
    rest = [word for word in words[1:_WORDS_MAX] if not word.startswith("-")]
    return [*filter(str.strip, rest), *([" ".join(rest)] if words[0] == "eval" else [])]

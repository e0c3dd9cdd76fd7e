"""Who is meant: `@name` in a text, and names that a client has already picked out.

Pure. A name is letters, digits, `_` and `-` of any script; `@all` is everyone. The wide sign `＠`,
which Chinese keyboards type, is as good as the narrow one.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from trunkline import limits

EVERYONE = "all"
USER = "user"
"""How the person who owns the group is called where somebody's name is needed."""

RESERVED = (EVERYONE, USER)
_NAME = re.compile(r"[\w-]+")
# Not inside an address: in `ann@example.com` nobody is mentioned. In `请@张三看看` somebody is:
# what counts as a letter before the sign is one of a script with spaces.
_MENTION = re.compile(r"(?<![0-9A-Za-z_.@＠\-\u00aa-\u1fff])[@＠]([\w-]+)")


class Named(Protocol):
    """A person, as far as this module knows one."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


class Chosen(NamedTuple):
    """Who is to answer, in the group's order, and the names that nobody has."""

    ids: list[str]
    unknown: list[str]


def normal(name: str) -> str:
    """One spelling of a name, however it was typed in."""
    return unicodedata.normalize("NFC", name)


def is_name(name: str) -> bool:
    return (
        len(name) <= limits.GROUP_NAME_CHARS_MAX
        and _NAME.fullmatch(name) is not None
        and name.strip("_-") != ""
    )


def choose(text: str, picked: Any, persons: Sequence[Named]) -> Chosen:
    """Those that the text or the client names. Nobody, or `@all`, means everyone."""
    met: set[str] = set()
    unknown: dict[str, None] = {}
    everyone = False
    for name in [*_picked(picked), *_written(text)]:
        if name.casefold() == EVERYONE:
            everyone = True
        elif (person := _find(name, persons)) is not None:
            met.add(person.id)
        else:
            unknown[name] = None
    ids = [one.id for one in persons if everyone or not met or one.id in met]
    return Chosen(ids, list(unknown))


def addressed(answer: str, author_id: str, persons: Sequence[Named]) -> list[str]:
    """The others whom an answer names. What looks like a name and is none means nothing: code
    is full of such words."""
    met: set[str] = set()
    for name in _written(answer):
        if name.casefold() == EVERYONE:
            met.update(one.id for one in persons)
        elif (person := _find(name, persons)) is not None:
            met.add(person.id)
    return [one.id for one in persons if one.id in met and one.id != author_id]


def _picked(given: Any) -> Iterator[str]:
    """What a client sends as `mentions`: names or ids, with or without the sign."""
    if isinstance(given, list):
        for one in given[: limits.NAMES_MAX]:
            if isinstance(one, str) and (name := one.strip().lstrip("@＠")):
                yield normal(name[: limits.ID_CHARS_MAX])


def _written(text: str) -> Iterator[str]:
    for found in _MENTION.finditer(normal(text)):
        yield found[1][: limits.ID_CHARS_MAX]


def _find(name: str, persons: Sequence[Named]) -> Named | None:
    """The person of that name, in any case; or whose name it begins with, where a script without
    spaces goes on behind it (`@alice帮我看下`)."""
    for one in persons:
        if name in (one.name, one.id):
            return one
    folded = name.casefold()
    for wanted in (folded, folded.rstrip("-_")):
        for one in persons:
            if one.name.casefold() == wanted:
                return one
    begins = [
        one
        for one in persons
        if folded.startswith(known := one.name.casefold()) and _ends_at(folded, len(known))
    ]
    return max(begins, key=lambda one: len(one.name), default=None)


def _ends_at(text: str, position: int) -> bool:
    """Whether a word may end there: not between two letters of a script with spaces."""
    return not (text[position - 1].isascii() and text[position].isascii())

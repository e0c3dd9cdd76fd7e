"""A command of bash as far as it can be told what runs: simple commands with plain words.

Deliberately narrow. Variables, substitutions, groups, here-documents, keywords and whatever else
needs a shell to understand are None, and None is asked about.
"""

import re
import unicodedata

import msgspec

from trunkline.permissions.names import words_of

COMMAND_CHARS_MAX = 100_000

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=", re.ASCII)
_KEYWORDS = words_of(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until"
    " while"
)
_DIGITS = frozenset("0123456789")
_GLOB = frozenset("*?[")
_OPERATORS = ("&&", "||", "|&", "|", ";", "&", "\n")
_REDIRECTIONS = ("&>>", "&>", ">>", ">|", ">&", ">", "<")
_TO_NOWHERE = frozenset(("/dev/null",))


class Word(msgspec.Struct, frozen=True):
    """`text` as the program gets it; `is_glob`: the shell replaces it by names of files."""

    text: str
    is_glob: bool = False


class Simple(msgspec.Struct, frozen=True, kw_only=True):
    """One program with its arguments. `reads`: files on its standard input; `writes`: whether its
    output goes to a file that is not `/dev/null`; `then`: the operator behind it."""

    assignments: tuple[str, ...] = ()
    words: tuple[Word, ...]
    reads: tuple[str, ...] = ()
    writes: bool = False
    then: str = ""

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]


class _NotUnderstood(Exception):
    pass


def parse(command: str) -> list[Simple] | None:
    """The simple commands in their order, or None. An empty command is None too."""
    if len(command) > COMMAND_CHARS_MAX or _has_odd_characters(command):
        return None
    try:
        return _Parser(command).commands() or None
    except _NotUnderstood:
        return None


def _has_odd_characters(command: str) -> bool:
    """Spaces that look like spaces and are none to the shell, and what cannot be seen."""
    return any(
        unicodedata.category(one) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs") and one not in " \t\n"
        for one in command
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def commands(self) -> list[Simple]:
        found: list[Simple] = []
        while not self._is_over():
            one = self._simple()
            if one is None:
                # A separator with nothing before it, which only lines may have.
                if self._operator() != "\n":
                    raise _NotUnderstood
                continue
            found.append(msgspec.structs.replace(one, then=self._operator()))
        if found and found[-1].then in ("&&", "||", "|", "|&"):
            raise _NotUnderstood
        return found

    def _is_over(self) -> bool:
        self._blanks()
        return self._at >= len(self._text)

    def _blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1

    def _operator(self) -> str:
        self._blanks()
        if self._at >= len(self._text):
            return ""
        for operator in _OPERATORS:
            if self._text.startswith(operator, self._at):
                self._at += len(operator)
                return operator
        raise _NotUnderstood

    def _simple(self) -> Simple | None:
        assignments: list[str] = []
        words: list[Word] = []
        reads: list[str] = []
        writes, is_empty = False, True
        while not self._is_over() and self._text[self._at] not in ";|\n":
            if self._text[self._at] == "&" and not self._text.startswith("&>", self._at):
                break
            is_empty = False
            if (redirection := self._redirection()) is not None:
                kind, target = redirection
                if kind == "<":
                    reads.append(target)
                writes = writes or (kind == ">" and target not in _TO_NOWHERE)
                continue
            word = self._word()
            if not words and _ASSIGNMENT.match(word.text):
                assignments.append(word.text)
            else:
                words.append(word)
        if is_empty:
            return None
        if not words or words[0].text in _KEYWORDS:
            raise _NotUnderstood
        return Simple(
            assignments=tuple(assignments),
            words=tuple(words),
            reads=tuple(reads),
            writes=writes,
        )

    def _redirection(self) -> tuple[str, str] | None:
        """`>` or `<` and its target; `&` for one descriptor that follows another."""
        at = self._at
        while at < len(self._text) and self._text[at] in _DIGITS:
            at += 1
        rest = self._text[at : at + 3]
        if not rest or (rest[0] not in "<>" and not (rest.startswith("&>") and at == self._at)):
            return None
        if rest.startswith(("<<", "<(", ">(", "<>", "<&")):
            raise _NotUnderstood
        kind = "<" if rest[0] == "<" else ">"
        length = next(len(one) for one in _REDIRECTIONS if rest.startswith(one))
        is_copy = rest.startswith(">&")
        self._at = at + length
        self._blanks()
        if self._at >= len(self._text):
            raise _NotUnderstood
        target = self._word()
        if target.is_glob or not target.text:
            raise _NotUnderstood
        if is_copy:
            if target.text not in ("1", "2"):
                raise _NotUnderstood
            return "&", target.text
        return kind, target.text

    def _word(self) -> Word:
        start = self._at
        parts: list[str] = []
        is_glob = False
        while self._at < len(self._text):
            one = self._text[self._at]
            if one in " \t\n;|&<>":
                break
            if one in "$`(){}" or (one == "#" and self._at == start):
                raise _NotUnderstood
            if one == "~" and self._at == start:
                raise _NotUnderstood
            if one == "'":
                parts.append(self._until("'"))
            elif one == '"':
                parts.append(self._double_quoted())
            elif one == "\\":
                parts.append(self._escaped())
            else:
                is_glob = is_glob or one in _GLOB
                parts.append(one)
                self._at += 1
        if self._at == start:
            raise _NotUnderstood
        return Word("".join(parts), is_glob)

    def _until(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        if end < 0:
            raise _NotUnderstood
        text = self._text[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double_quoted(self) -> str:
        parts: list[str] = []
        self._at += 1
        while self._at < len(self._text):
            one = self._text[self._at]
            if one == '"':
                self._at += 1
                return "".join(parts)
            if one in "$`":
                raise _NotUnderstood
            if one == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                # Only before these does a backslash vanish; before a new line, both do.
                parts.append(following if following in ('"', "\\", "$", "`") else one + following)
                if following in ("", "\n"):
                    raise _NotUnderstood
                self._at += 2
                continue
            parts.append(one)
            self._at += 1
        raise _NotUnderstood

    def _escaped(self) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        if following in ("", "\n"):
            raise _NotUnderstood
        self._at += 2
        return following

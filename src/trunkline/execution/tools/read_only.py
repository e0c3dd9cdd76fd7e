"""Which shell commands only look, at files an agent may read anyway: those need no question.

Deliberately narrow. What is not understood counts as dangerous.
"""

import re
import shlex
from collections.abc import Callable

# Chaining, redirection, substitution, expansion, escapes, further lines.
_SHELL_SYNTAX = re.compile(r"[;&|<>$`(){}\\\n\r\x00]")
# Before bash 5.2 such a pattern finds the folder above.
_DOT_PATTERN = re.compile(r"(?:^|/)\.[*?\[]")

_PROGRAMS = frozenset(
    {
        *("basename", "cat", "cmp", "cut", "diff", "dirname", "du", "df", "echo", "false", "find"),
        *("grep", "head", "id", "ls", "md5sum", "nl", "pwd", "readlink", "realpath", "sha256sum"),
        *("stat", "tail", "true", "uname", "wc", "which", "whoami"),
    }
)
# Tests and actions of `find` that start programs, or write or remove files.
_FIND_ACTIONS = re.compile(r"-(?:exec|ok|delete|f(?:print|ls)|files0).*")


def only_reads(command: str, may_read: Callable[[str], bool]) -> bool:
    """Whether a command is one simple program that changes nothing. `may_read` says whether a word,
    taken as a path, is one of the files that need no question."""
    if _SHELL_SYNTAX.search(command):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if not words or words[0] not in _PROGRAMS:
        return False
    if words[0] == "find" and any(_FIND_ACTIONS.match(word) for word in words):
        return False
    return all(_is_harmless(word, may_read) for word in words[1:])


def _is_harmless(word: str, may_read: Callable[[str], bool]) -> bool:
    if word.startswith("~") or _DOT_PATTERN.search(word):
        return False
    if word.startswith("-"):
        return "/" not in word and ".." not in word  # `--file=/…`, `-f/…`
    return may_read(word)

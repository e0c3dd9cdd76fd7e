"""Which shell commands only look, at files an agent may read anyway: those need no question.

Deliberately narrow. What is not understood counts as dangerous.
"""

import re
import shlex
from collections.abc import Callable

# Chaining, redirection, substitution, expansion, escapes, further lines.
_SHELL_SYNTAX = re.compile(r"[;&|<>$`(){}\\\n\r\x00]")
# Text that the shell takes as it is; escapes and expansions are gone by then.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# A pattern may find a link that leads out, or before bash 5.2 the folder above.
_PATTERN = re.compile(r"[*?\[]")

_PROGRAMS = frozenset(
    {
        *("basename", "cat", "cmp", "cut", "dirname", "du", "df", "echo", "false", "find"),
        *("grep", "head", "id", "ls", "md5sum", "nl", "pwd", "readlink", "realpath", "sha256sum"),
        *("stat", "tail", "true", "uname", "wc", "which", "whoami"),
    }
)
# Options of `find` that start programs, write or remove files, or follow links.
_FIND_ACTIONS = re.compile(r"-(?:exec|ok|delete|f(?:print|ls)|files0|follow).*|-[HL]+")
# Options, short and long, that follow links or take names of files from a file. (`diff` is not
# among the programs: in folders it follows links without being asked to.)
_FAR_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "du": ("DHLX", ("dereference-args", "exclude-from", "files0-from")),
    "grep": ("Rf", ("dereference-recursive", "file")),
    "ls": ("HL", ("dereference-command-line-symlink-to-dir",)),
    "md5sum": ("c", ("check",)),
    "sha256sum": ("c", ("check",)),
    "stat": ("L", ("dereference",)),
    "wc": ("", ("files0-from",)),
}


def only_reads(command: str, may_read: Callable[[str], bool]) -> bool:
    """Whether a command is one simple program that changes nothing. `may_read` says whether a word,
    taken as a path, is one of the files that need no question."""
    if _SHELL_SYNTAX.search(command) or _PATTERN.search(_QUOTED.sub("", command)):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if not words or words[0] not in _PROGRAMS:
        return False
    program, *arguments = words
    return not any(_reaches_far(program, word) for word in arguments) and all(
        _is_harmless(word, may_read) for word in arguments
    )


def _reaches_far(program: str, word: str) -> bool:
    if program == "find":
        return _FIND_ACTIONS.fullmatch(word) is not None
    short, long = _FAR_OPTIONS.get(program, ("", ()))
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        # Long options may be shortened: `--deref`.
        return bool(name) and any(option.startswith(name) for option in long)
    return word.startswith("-") and any(letter in word for letter in short)


def _is_harmless(word: str, may_read: Callable[[str], bool]) -> bool:
    if word.startswith("~"):
        return False
    if word.startswith("-") and ("/" in word or ".." in word):  # `--file=/…`, `-f/…`
        return False
    return may_read(word)  # also of `-x`, which is a file after `--`

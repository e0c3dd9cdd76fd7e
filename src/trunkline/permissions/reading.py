"""Commands that only look, at files that a session may read anyway: nobody is asked about them.

Which those are is deliberately narrow. A program that is not listed, an option that writes, starts
something, follows links or takes names of files from a file: asked about.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from trunkline.permissions.names import words_of
from trunkline.permissions.shell import Simple, parse

_PROGRAMS = words_of(
    "basename cat cmp cut date df dirname du echo expr false file find git grep head id ls md5sum"
    " nl pwd readlink realpath rg seq sha256sum sort stat tail tr tree true uname uniq wc which"
    " whoami"
)
"""(Not `test` and `printf`: bash evaluates the name of a variable that they are given.)"""
# Options of `find` that start programs, write or remove files, or follow links.
_FIND_ACTIONS = re.compile(r"-(?:exec|ok|delete|f(?:print|ls)|files0|follow).*|-[HL]+")


class _Far(msgspec.Struct, frozen=True):
    """Options, short and long, with which a program does more than look at what it is given."""

    short: str = ""
    long: tuple[str, ...] = ()


# (`diff` is not among the programs: in folders it follows links without being asked to.)
_FAR: dict[str, _Far] = {
    "date": _Far("sfr", ("set", "file", "reference")),
    "du": _Far("DHLX", ("dereference-args", "exclude-from", "files0-from")),
    "file": _Far(
        "CfmLSzZP",
        (
            *("compile", "files-from", "magic-file", "dereference", "no-sandbox"),
            *("uncompress", "uncompress-noreport", "parameter"),
        ),
    ),
    "grep": _Far("Rf", ("dereference-recursive", "file", "exclude-from")),
    "ls": _Far("HL", ("dereference-command-line-symlink-to-dir",)),
    "md5sum": _Far("c", ("check",)),
    "rg": _Far(
        "fLz",
        ("file", "follow", "pre", "pre-glob", "search-zip", "hostname-bin", "ignore-file"),
    ),
    "sha256sum": _Far("c", ("check",)),
    "sort": _Far(
        "oTS",
        (
            *("output", "compress-program", "files0-from", "random-source"),
            "temporary-directory",
        ),
    ),
    "stat": _Far("L", ("dereference",)),
    "tree": _Far("olR", ("fromfile", "fromtabfile", "output")),
    "wc": _Far("", ("files0-from",)),
}

_GIT_DIFF = _Far(
    "O",
    (
        *("output", "ext-diff", "textconv", "show-signature", "no-index", "output-directory"),
        *("stdin", "open-files-in-pager"),
    ),
)
_GIT: dict[str, _Far] = {
    "blame": _Far("S", ("contents", "ignore-revs-file")),
    "diff": _GIT_DIFF,
    "log": _GIT_DIFF,
    "ls-files": _Far("X", ("exclude-from", "exclude-per-directory")),
    "show": _GIT_DIFF,
    "status": _Far(),
}
# Of these the options that only list; a word besides would make or change something.
_GIT_LISTS: dict[str, frozenset[str]] = {
    "branch": words_of("-a -r -v -vv -avv -av --all --list --remotes --show-current"),
    "remote": frozenset(("-v", "--verbose")),
    "rev-parse": words_of(
        "HEAD --abbrev-ref --git-dir --is-inside-work-tree --short --show-prefix"
        " --show-toplevel --verify"
    ),
    "stash": frozenset(("list",)),
    "tag": frozenset(("-l", "--list")),
}


_GIT_NAMES = frozenset(_GIT_LISTS) - {"stash"} | {"ls-files", "status"}
"""Of git what shows names alone."""
_BELOW = _Far("rd", ("recursive", "directories"))


class Place(msgspec.Struct, frozen=True):
    """Where a command runs. `may_read`: whether a word, taken as a path from there, is one of the
    files that need no question. `is_repository`: whether the folder itself holds a `.git` that a
    person made; without one, any files there may be taken for a repository, its programs too.
    `folder`: its own path."""

    may_read: Callable[[str], bool]
    is_repository: bool = False
    folder: str = "."


def only_reads(command: str, place: Place) -> bool:
    """Whether every part of a command changes nothing."""
    parts = parse(command)
    if parts is None:
        return False
    base = ""
    if len(parts) > 1 and parts[0].texts[0] == "cd" and parts[0].then == "&&":
        if (folder := _entered(parts[0], place)) is None:
            return False
        base, parts = "" if folder in (".", place.folder) else folder, parts[1:]
    return all(simple_only_reads(part, place, base) for part in parts)


def simple_only_reads(part: Simple, place: Place, base: str = "") -> bool:
    """`base`: the folder, from the place, that the command runs in."""
    if part.assignments or part.writes or any(word.is_glob for word in part.words):
        return False
    program, *arguments = part.texts
    if program not in _PROGRAMS:
        return False

    def may_read(word: str) -> bool:
        return place.may_read(f"{base}/{word}" if base and not word.startswith("/") else word)

    if not all(may_read(name) for name in part.reads):
        return False
    if program == "git":
        if base or not place.is_repository or not _git_only_reads(arguments):
            return False
    elif not _stays(program, arguments):
        return False
    return all(_is_harmless(word, may_read) for word in arguments)


def shows_unnamed(command: str) -> bool:
    """Whether a command that only reads shows what is in files that it does not name."""
    return any(_looks_below(part.texts) for part in parse(command) or ())


def _looks_below(words: Sequence[str]) -> bool:
    program, *arguments = words
    if program == "git":
        return not any(word in _GIT_NAMES for word in arguments[:2])
    if program == "grep":
        return any(_is_far(_BELOW, word) for word in arguments)
    return program == "rg"


def _entered(part: Simple, place: Place) -> str | None:
    """The folder of a plain `cd FOLDER`."""
    words = part.texts
    is_plain = len(words) == 2 and not (part.assignments or part.reads or part.writes)
    if not is_plain or part.words[1].is_glob or words[1].startswith("-"):
        return None
    return words[1] if place.may_read(words[1]) else None


def _stays(program: str, arguments: Sequence[str]) -> bool:
    if program == "find":
        return not any(_FIND_ACTIONS.fullmatch(word) for word in arguments)
    if program == "uniq":  # a second name is where it writes to, also behind `-` and `--`
        return len([one for one in arguments if one in ("-", "--") or one[:1] != "-"]) <= 1
    if program == "date" and any(not one.startswith(("+", "-")) for one in arguments):
        return False
    far = _FAR.get(program)
    return far is None or not any(_is_far(far, word) for word in arguments)


def _git_only_reads(arguments: Sequence[str]) -> bool:
    words = list(arguments)
    if words[:1] == ["--no-pager"]:
        del words[0]
    if not words:
        return False
    name, *rest = words
    if (listing := _GIT_LISTS.get(name)) is not None:
        return set(rest) <= listing and (name != "stash" or rest == ["list"])
    far = _GIT.get(name)
    return far is not None and not any(_is_far(far, word) for word in rest)


def _is_far(far: _Far, word: str) -> bool:
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        # Long options may be shortened: `--deref`.
        return bool(name) and any(option.startswith(name) for option in far.long)
    return word.startswith("-") and any(letter in word for letter in far.short)


def _is_harmless(word: str, may_read: Callable[[str], bool]) -> bool:
    if word.startswith("--") and "=" in word:
        return may_read(word.partition("=")[2] or ".")
    if word.startswith("-") and ("/" in word or ".." in word):  # `-f/…`
        return False
    return may_read(word or ".")  # also of `-x`, which is a file after `--`

"""Patterns of rules, and whether they cover a subject.

- command: word by word; `*` in a word is any text, a last word `*` is any words, or none. A pattern
  that is the whole command, letter by letter, covers it.
- path: from the workspace, or whole with a leading `/`; `*` stays in one folder, `**` does not; a
  pattern without a slash is a name in any folder; `./name` is in the workspace itself.
- domain: `domain:example.org` is that host, `domain:*.example.org` every host under it.
"""

import re
from functools import lru_cache

import msgspec

from trunkline.permissions.names import names_of
from trunkline.permissions.subjects import Kind, plain_host

_KINDS: dict[str, Kind] = {
    "bash": "command",
    "edit_file": "path",
    "read_file": "path",
    "web_fetch": "domain",
}
_DOMAIN = "domain:"
_HOST = re.compile(r"(\*\.)?[a-z0-9_.:\[\]-]{1,253}")


def kind_of(tool: str) -> Kind | None:
    """What patterns of a tool are compared with; None: it takes none."""
    return next((_KINDS[name] for name in names_of(tool) if name in _KINDS), None)


class Pattern(msgspec.Struct, frozen=True):
    kind: Kind
    text: str

    @classmethod
    def read(cls, kind: Kind, text: str) -> "Pattern":
        """Raises ValueError, in words."""
        text = text.strip()
        if not text or "\0" in text:
            raise ValueError("a pattern is not empty")
        if kind == "path":
            if ".." in text.split("/"):
                raise ValueError("a path in a rule has no `..`")
            if text.startswith("~"):
                raise ValueError("a path in a rule is from the workspace, or begins with /")
        if kind == "domain":
            return cls(kind, _read_domain(text))
        return cls(kind, text)

    def matches_words(self, words: list[str]) -> bool:
        """Of a command."""
        wanted = self.text.split()
        if wanted and wanted[-1] == "*":
            del wanted[-1]
            if len(words) < len(wanted):
                return False
            words = words[: len(wanted)]
        return len(words) == len(wanted) and all(
            _glob(one).fullmatch(word) for one, word in zip(wanted, words, strict=True)
        )

    def covers_path(self, path: str) -> bool:
        """For an `allow`: a pattern from the workspace covers nothing outside of it."""
        is_whole = path.startswith("/")
        return (
            is_whole == self.text.startswith("/") and _path(self.text).fullmatch(path) is not None
        )

    def touches_path(self, path: str) -> bool:
        """For a `deny` or an `ask`: on some systems names differ in their letters' size alone."""
        return _path(self.text.lower()).fullmatch(path.lower()) is not None

    def matches_host(self, host: str) -> bool:
        wanted = self.text.removeprefix(_DOMAIN)
        if wanted.startswith("*."):
            return host.endswith(wanted[1:]) and len(host) > len(wanted) - 1
        return host == wanted


def _read_domain(text: str) -> str:
    name = text.removeprefix(_DOMAIN) if text.startswith(_DOMAIN) else ""
    wild = "*." if name.startswith("*.") else ""
    host = plain_host(name.removeprefix("*."))
    if host is None or _HOST.fullmatch(host) is None:
        raise ValueError("a host in a rule is domain:example.org or domain:*.example.org")
    return f"{_DOMAIN}{wild}{host}"


@lru_cache(maxsize=1_000)
def _glob(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", text))), re.DOTALL)


@lru_cache(maxsize=1_000)
def _path(text: str) -> re.Pattern[str]:
    if text.startswith("./"):
        text = text[2:]
    elif "/" not in text and text != "**":
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    found: list[str] = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", text):
        match part:
            case "**/":
                found.append("(?:.*/)?")
            case "**":
                found.append(".*")
            case "*":
                found.append("[^/]*")
            case "?":
                found.append("[^/]")
            case _:
                found.append(re.escape(part))
    return re.compile("".join(found), re.DOTALL)

"""The format of `conversation.md`: sections headed `## [role] time` (document 004 §3.2).

Text in, text out. A line of content that looks like a heading gets a backslash before it, which
Markdown shows as it was; so what is parsed is exactly what was said.
"""

import re

import msgspec

_HEADING = re.compile(r"(?:\A|\n)## \[([^\[\]\s]{1,64})\] (\S{1,64})(?=\n|\Z)")
_LIKE_A_HEADING = re.compile(r"^(\\*)(?=## \[)", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(?=\\*## \[)", re.MULTILINE)
_ROLE = re.compile(r"[^\[\]\s]{1,64}\Z")


class Section(msgspec.Struct, frozen=True):
    """One thing that somebody said."""

    role: str
    at: str
    content: str


def is_role(role: str) -> bool:
    """Whether a heading can name it and be read again."""
    return _ROLE.match(role) is not None


def render(section: Section) -> str:
    """A section as it is appended.

    It begins with a line end, so that a section whose writer was killed in the middle does not
    swallow the next one's heading.
    """
    content = _LIKE_A_HEADING.sub(r"\\\1", section.content)
    return f"\n## [{section.role}] {section.at}\n\n{content}\n"


def parse(text: str) -> list[Section]:
    """Every section, oldest first. What stands before the first heading is not one."""
    pieces = _HEADING.split(text)[1:]
    return [
        Section(role, at, _ESCAPED.sub("", _inner(body)))
        for role, at, body in zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True)
    ]


def from_first_heading(text: str) -> str:
    """Without the end of a section that was cut; all of it when one section fills it."""
    heading = _HEADING.search(text)
    return text[heading.start() :] if heading else text


def _inner(body: str) -> str:
    # The end of the heading's line, the empty line, and the end of the content.
    return body.removeprefix("\n").removeprefix("\n").removesuffix("\n")

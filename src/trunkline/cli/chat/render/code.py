"""Code in colours that are seen on light and on dark: the terminal's own."""

from typing import TYPE_CHECKING

from trunkline.cli.chat.render.layout import Line, safe_code

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_CHARS_MAX = 60_000
"""More is shown without colours: some lexers take their time."""
_STYLES = {
    "Comment": "dim",
    "Keyword": "magenta",
    "Name.Function": "bold",
    "Name.Class": "bold",
    "Name.Decorator": "cyan",
    "Name.Builtin": "cyan",
    "Name.Attribute": "cyan",
    "Name.Tag": "magenta",
    "Literal.String": "green",
    "Literal.Number": "cyan",
    "Generic.Deleted": "red",
    "Generic.Inserted": "green",
    "Generic.Heading": "bold",
    "Generic.Subheading": "cyan",
    "Generic.Prompt": "dim",
    "Generic.Output": "dim",
}


def highlighted(text: str, language: str) -> list[Line]:
    """Its lines, each as it was but for its colours."""
    lexer = _lexer(language) if language and len(text) <= _CHARS_MAX else None
    if lexer is None:
        return [[(safe_code(line), "")] if line else [] for line in text.split("\n")]
    lines: list[Line] = [[]]
    for kind, value in lexer.get_tokens(text):
        style = _style(str(kind).removeprefix("Token."))
        first, *others = value.split("\n")
        lines[-1].append((safe_code(first), style))
        lines += [[(safe_code(other), style)] for other in others]
    return [[span for span in line if span[0]] for line in lines]


def _lexer(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _style(kind: str) -> str:
    while kind:
        if kind in _STYLES:
            return _STYLES[kind]
        kind = kind.rpartition(".")[0]
    return ""

"""One block of Markdown as lines of a terminal.

Code stands as it was written, without a box or blanks around it, so that it can be copied. A link
shows where it leads, after its text: no terminal is told of one.
"""

from typing import TYPE_CHECKING

from trunkline.cli.chat.render.blocks import parsed
from trunkline.cli.chat.render.code import highlighted
from trunkline.cli.chat.render.layout import Line, Span, indented, safe, safe_lines, wrap
from trunkline.cli.chat.render.table import table

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_PLAIN_CHARS = 40_000
"""A longer block is no Markdown for reading, except code."""
_NARROW = 20
"""Columns below which nothing is indented any more."""
_RULE = 60
_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}


class Markdown:
    """`colours`: without them, marks say what a style would."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def lines(self, block: str, width: int) -> list[Line]:
        """What one or more blocks look like, with an empty line between them."""
        from markdown_it.tree import SyntaxTreeNode

        tokens = parsed(block) if len(block) <= _PLAIN_CHARS or is_fence(block) else None
        if tokens is None:
            return wrap([(safe_lines(block.rstrip("\n")), "")], width)
        return self._blocks(SyntaxTreeNode(tokens).children, width)

    def _blocks(
        self, nodes: "list[SyntaxTreeNode]", width: int, *, is_tight: bool = False
    ) -> list[Line]:
        lines: list[Line] = []
        for node in nodes:
            if lines and not is_tight:
                lines.append([])
            lines += self._block(node, width)
        return lines

    def _block(self, node: "SyntaxTreeNode", width: int) -> list[Line]:
        match node.type:
            case "heading":
                return self._heading(node, width)
            case "fence" | "code_block":
                return self._code(node)
            case "bullet_list" | "ordered_list":
                return self._list(node, width)
            case "blockquote":
                inner = self._blocks(node.children, _inside(width, 2))
                bar = ("│ ", "dim")
                return indented(inner, bar, bar) if width > _NARROW else inner
            case "table":
                return self._table(node, width)
            case "hr":
                return [[("─" * min(width, _RULE), "dim")]]
            case _:
                return wrap(self._inline(node.children), width)

    def _heading(self, node: "SyntaxTreeNode", width: int) -> list[Line]:
        level = len(node.markup) if node.markup.startswith("#") else 1 + (node.markup == "-")
        style = "bold underline" if level == 1 else "bold"
        spans = [(text, f"{style} {own}".strip()) for text, own in self._inline(node.children)]
        mark = "" if self._colours else "#" * level + " "
        return wrap([(mark, ""), *spans], width)

    def _code(self, node: "SyntaxTreeNode") -> list[Line]:
        language = (node.info.split() or [""])[0]
        code = highlighted(node.content.removesuffix("\n"), language)
        if node.type == "code_block":
            return code
        label = f"```{safe(node.info.strip())}"
        return [[(label, "dim")], *code, [("```", "dim")]]

    def _list(self, node: "SyntaxTreeNode", width: int) -> list[Line]:
        start = node.attrs.get("start", 1)
        number = start if isinstance(start, int) else 1
        lines: list[Line] = []
        is_tight = _is_tight(node)
        for index, item in enumerate(node.children):
            mark = "• " if node.type == "bullet_list" else f"{number + index}. "
            inner = self._blocks(item.children, _inside(width, len(mark)), is_tight=is_tight)
            if lines and not is_tight:
                lines.append([])
            if width > _NARROW:
                lines += indented(inner or [[]], (mark, "cyan"))
            else:
                lines += wrap([(mark, "cyan"), *(inner[0] if inner else [])], width) + inner[1:]
        return lines

    def _table(self, node: "SyntaxTreeNode", width: int) -> list[Line]:
        rows = [row for part in node.children for row in part.children]
        cells_of = [[self._inline(cell.children) for cell in row.children] for row in rows]
        sides = [str(cell.attrs.get("style", "")).rpartition(":")[2] for cell in rows[0].children]
        return table(cells_of, sides, width)

    def _inline(self, nodes: "list[SyntaxTreeNode]", style: str = "") -> list[Span]:
        spans: list[Span] = []
        for node in nodes:
            spans += self._one_inline(node, style)
        return spans

    def _one_inline(self, node: "SyntaxTreeNode", style: str) -> list[Span]:
        match node.type:
            case "inline" if node.children:
                return self._inline(node.children, style)
            case "inline":
                return [(safe_lines(node.content), style)]
            case "softbreak":
                return [(" ", style)]
            case "hardbreak":
                return [("\n", style)]
            case "code_inline":
                text = safe(node.content)
                return [(text, f"{style} cyan") if self._colours else (f"`{text}`", "")]
            case "link":
                return self._link(node, style)
            case "image":
                about = safe(node.content) or "image"
                return [(f"[{about}] ", style), *_address(node.attrs.get("src"))]
            case kind if kind in _MARKS:
                return self._inline(node.children, f"{style} {_MARKS[kind]}".strip())
            case _:
                return [(safe(node.content), style)]

    def _link(self, node: "SyntaxTreeNode", style: str) -> list[Span]:
        """Its text and its address; once where the text is the address."""
        spans = self._inline(node.children, style)
        address = safe(str(node.attrs.get("href", "")))
        said = "".join(text for text, _ in spans)
        if said in (address, address.removeprefix("mailto:")):
            return [(said, f"{style} underline".strip())]
        return [*spans, (" ", style), *_address(address)]


def _address(value: object) -> list[Span]:
    return [("(", "dim"), (safe(str(value or "")), "underline"), (")", "dim")]


def _inside(width: int, taken: int) -> int:
    return width - taken if width > _NARROW else width


def _is_tight(node: "SyntaxTreeNode") -> bool:
    return all(
        one.hidden for item in node.children for one in item.children if one.type == "paragraph"
    )


def is_fence(block: str) -> bool:
    return block.lstrip(" ").startswith(("```", "~~~"))

"""A table that fits: columns as wide as they need, else narrower ones whose cells wrap, else a
record a row."""

from trunkline.cli.chat.render.layout import Line, Span, cells, wrap

_BETWEEN: Span = ("  ", "")
_COLUMN_MIN = 8
"""A column that is narrower than this, and than its content, cannot be read."""

Cell = list[Span]


def table(rows: list[list[Cell]], sides: list[str], width: int) -> list[Line]:
    """The first row is the header. `sides`: where the text of each column stands in it."""
    head, *body = rows
    wanted = [max(cells(row[at]) for row in rows if at < len(row)) for at in range(len(head))]
    given = _fitted(wanted, width - len(_BETWEEN[0]) * (len(head) - 1))
    if given is None:
        return _records(head, body, width)
    lines = _row([_bold(cell) for cell in head], given, sides)
    rule = [("─" * one, "dim") for one in given]
    lines.append([span for one in rule for span in (one, _BETWEEN)][:-1])
    for row in body:
        lines += _row(row, given, sides)
    return lines


def _fitted(wanted: list[int], room: int) -> list[int] | None:
    """The width of each column; None where some would be too narrow. The widest give first."""
    if sum(wanted) <= room:
        return [max(one, 1) for one in wanted]
    if sum(_bounded(wanted, 0)) > room:
        return None
    low, high = 0, max(wanted)
    while low < high:  # the highest bound that all columns together have room for
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(_bounded(wanted, middle)) <= room else (low, middle - 1)
    return _bounded(wanted, low)


def _bounded(wanted: list[int], most: int) -> list[int]:
    return [max(min(one, max(most, _COLUMN_MIN)), 1) for one in wanted]


def _bold(cell: Cell) -> Cell:
    return [(text, f"bold {style}".strip()) for text, style in cell]


def _row(row: list[Cell], given: list[int], sides: list[str]) -> list[Line]:
    wrapped = [wrap(cell, room) for cell, room in zip(row, given, strict=False)]
    lines: list[Line] = []
    for at in range(max(map(len, wrapped), default=0)):
        line: Line = []
        for column, cell in enumerate(wrapped):
            part = cell[at] if at < len(cell) else []
            left = given[column] - cells(part)
            before = {"right": left, "center": left // 2}.get(sides[column], 0)
            line += [(" " * before, ""), *part, (" " * (left - before), ""), _BETWEEN]
        lines.append(line[:-1])
    return lines


def _records(head: list[Cell], body: list[list[Cell]], width: int) -> list[Line]:
    lines: list[Line] = []
    for row in body:
        if lines:
            lines.append([])
        for name, cell in zip(head, row, strict=False):
            lines += wrap([*_bold(name), (": ", "bold"), *cell], width)
    return lines

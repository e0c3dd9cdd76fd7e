"""What the sessions of this measurement say: Markdown as models write it, in pieces of a token or
two."""

from collections.abc import Iterator
from itertools import count

_SECTION = """## Step {number}: what the parser does with empty lines

The parser reads **one line at a time** and keeps `state` between them, as [the
guide](https://example.com/guide#{number}) says. 空行会结束一个段落，所以这里要小心。

- an empty line ends a paragraph
- two of them end a list, unless the next line is indented
  - which counts from the *content* of the item
- a fence ends only with its own mark

```python
def blocks(lines: list[str]) -> list[Block]:
    found = []
    for number, line in enumerate(lines):
        if not line.strip():  # nothing on it
            found.append(Block({number}, number))
    return found
```

| case | before | after |
| --- | --- | --- |
| empty | `['']` | `[]` |
| step {number} | one | two |

> What was said before step {number} still holds.

"""
_PIECE_CHARS = 7


def pieces() -> Iterator[str]:
    """Without an end."""
    for number in count(1):
        section = _SECTION.format(number=number)
        for at in range(0, len(section), _PIECE_CHARS):
            yield section[at : at + _PIECE_CHARS]

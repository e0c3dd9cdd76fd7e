"""A program of its own: the text of some pages of a PDF on standard output.

`python -m trunkline.execution.tools.pdf_program PATH FIRST COUNT`. Bounded from outside in time and
output, and by itself in memory.
"""

import logging
import resource
import sys
from contextlib import suppress

MEMORY_BYTES_MAX = 1024 * 1024 * 1024


def main(path: str, first: int, count: int) -> int:
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    logging.disable(logging.CRITICAL)
    try:
        from pypdf import PdfReader
    except ImportError:
        print("PDF files cannot be read on this machine: the package pypdf is not installed")
        return 1
    try:
        pages = PdfReader(path).pages
        total = len(pages)
        if first > total:
            print(f"the file has {total} pages")
            return 1
        last = min(total, first - 1 + count)
        for number in range(first, last + 1):
            print(f"[page {number} of {total}]")
            print(pages[number - 1].extract_text().encode(errors="replace").decode(), flush=True)
    except MemoryError:
        print("it takes too much memory to read")
        return 1
    except Exception as error:
        # A parser's mistakes have as many names as there are broken files.
        print(f"it cannot be read: {type(error).__name__}: {error}".splitlines()[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

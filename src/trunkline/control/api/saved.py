"""How files are answered that agents wrote or people uploaded: to be saved, and whatever shows them
all the same runs none of it.
"""

from urllib.parse import quote

UNKNOWN = "application/octet-stream"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def disposition(path: str) -> str:
    """The header that has it saved under the last part of its path."""
    name = quote(path.rpartition("/")[2] or "file", safe="")
    return f"attachment; filename*=UTF-8''{name}"

"""The plain pages besides the one that is built: docs, and what somebody sees whose login link is
bad or whose page is not built.

Self-contained: HTML, one style sheet, two scripts, nothing from elsewhere. Both languages are in
the document; the language on `<html>` says which one is seen.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from aiohttp import web

from trunkline.control.api.responses import PAGE_HEADERS

Language = Literal["en", "zh"]

_FOLDER = Path(__file__).parent
_FILES = {
    "style.css": "text/css",
    "language.js": "text/javascript",
    "docs.js": "text/javascript",
}


def language_of(headers: Mapping[str, str]) -> Language:
    """The one of our languages that `Accept-Language` names first."""
    for choice in headers.get("Accept-Language", "").lower().split(","):
        tag = choice.partition(";")[0].strip()
        if tag == "zh" or tag.startswith("zh-"):
            return "zh"
        if tag == "en" or tag.startswith("en-"):
            return "en"
    return "en"


def page(name: str, headers: Mapping[str, str]) -> str:
    """A page in the language that the headers ask for."""
    tag = f'<html lang="{language_of(headers)}">'
    return _read(f"{name}.html").replace('<html lang="en">', tag, 1)


def file(name: str) -> web.Response:
    """A script or style sheet, by a name from the list above and no other."""
    kind = _FILES.get(name)
    if kind is None:
        raise web.HTTPNotFound
    return web.Response(text=_read(name), content_type=kind, headers=PAGE_HEADERS)


@cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")

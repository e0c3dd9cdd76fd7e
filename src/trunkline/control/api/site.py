"""The page that people use, as `make web` or a wheel's build leaves it: files of one folder, and
its first document at every address that nothing else is at.

A request finds a file by a name that was listed beforehand, so no name leads out of the folder.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from trunkline.control.api import pages
from trunkline.control.api.responses import page_response

_HERE = Path(__file__).parent
# In a wheel it lies beside us; in a checkout it is where `make web` puts it.
_PLACES = (_HERE / "page", _HERE.parents[3] / "web" / "dist")
_INDEX = "index.html"
_HASHED = "assets/"
"""Below it, each name has a hash of what is in the file."""
_FOREVER = "public, max-age=31536000, immutable"
_MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the smallest first
# What is not there is no address of the page: programs ask, and want to know.
_NOT_THE_PAGES = ("/api", "/ws", "/pages", "/assets")
# Workers take their policy from their own file, so every file has it.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            # Pictures that people paste are shown before they are sent. None from elsewhere: an
            # address in what a model says could carry away what it has read.
            "img-src 'self' blob: data:",
            "media-src 'self' blob:",
            "font-src 'self'",
            "worker-src 'self'",
            "manifest-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types trunkline",
        )
    ),
}


class _File(NamedTuple):
    """`forms`: its file by encoding; `""` is as it is."""

    media: str
    tag: str
    forms: dict[str, Path]


class Site:
    """One folder. Built anew while it is served, it is read anew."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or next((one for one in _PLACES if one.is_dir()), _PLACES[-1])
        self._read: tuple[int, int] | None = None
        self._files: dict[str, _File] = {}

    async def index(self, request: web.Request) -> web.Response:
        """The page; before it is built, how to build it."""
        found = await self._serve(request, _INDEX)
        return found or page_response(pages.page("not_built", request.headers), 503)

    async def elsewhere(self, request: web.Request) -> web.Response | None:
        """What the page has at an address that no route is at; None when that is not its own."""
        path = request.path
        if request.method not in ("GET", "HEAD"):
            return None
        if found := await self._serve(request, path.removeprefix("/")):
            return found
        is_other = any(path == one or path.startswith(f"{one}/") for one in _NOT_THE_PAGES)
        if is_other or "text/html" not in request.headers.get("Accept", ""):
            return None
        return await self.index(request)

    async def _serve(self, request: web.Request, name: str) -> web.Response | None:
        if self._stamp() != self._read:
            await asyncio.to_thread(self._list)
        file = self._files.get(name)
        if file is None:
            return None
        encoding = _encoding_for(request.headers.get("Accept-Encoding", ""), file.forms)
        headers = {
            **_HEADERS,
            "Cache-Control": _FOREVER if name.startswith(_HASHED) else "no-cache",
            "Vary": "Accept-Encoding",
            "ETag": f'"{file.tag}{encoding and "-" + encoding}"',
        }
        if _is_known(request.headers, file.tag):
            return web.Response(status=304, headers=headers)
        try:
            body = await asyncio.to_thread(file.forms[encoding].read_bytes)
        except OSError:
            return None  # it is being built anew
        if encoding:
            headers["Content-Encoding"] = encoding
        return web.Response(body=body, headers={**headers, "Content-Type": file.media})

    def _stamp(self) -> tuple[int, int] | None:
        """Another one after each build."""
        try:
            seen = (self._folder / _INDEX).stat()
        except OSError:
            return None
        return seen.st_mtime_ns, seen.st_ino

    def _list(self) -> None:
        stamp = self._stamp()
        found: dict[str, _File] = {}
        paths = sorted(self._folder.rglob("*")) if stamp is not None else []
        for path in paths:
            if path.suffix in _MEDIA and path.is_file():
                packed = {name: path.with_name(path.name + end) for name, end in _ENCODINGS.items()}
                forms = {name: form for name, form in packed.items() if form.is_file()}
                tag = hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
                found[path.relative_to(self._folder).as_posix()] = _File(
                    _MEDIA[path.suffix], tag, {**forms, "": path}
                )
        self._files, self._read = found, stamp


def _encoding_for(accepted: str, forms: Mapping[str, Path]) -> str:
    """The smallest form that the caller takes; `""` is the file as it is."""
    wanted: dict[str, bool] = {}
    for one in accepted.lower().split(","):
        name, _, weight = (part.strip() for part in one.partition(";"))
        wanted[name] = weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    rest = wanted.get("*", False)
    return next((name for name in forms if name and wanted.get(name, rest)), "")


def _is_known(headers: Mapping[str, str], tag: str) -> bool:
    """Whether the caller has it, in whichever encoding."""
    known = headers.get("If-None-Match", "")
    ours = {f'"{tag}{end}"' for end in ("", *(f"-{name}" for name in _ENCODINGS))}
    given = {one.strip().removeprefix("W/") for one in known.split(",")}
    return not given.isdisjoint(ours | {"*"})

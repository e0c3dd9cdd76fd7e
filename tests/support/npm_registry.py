"""A package registry on loopback, for the real npm: what it offers is made up by the test."""

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

_POLL_S = 0.01  # whether it is to end: each test waits so long for that
PRINTS_VERSION = "#!/usr/bin/env node\nconsole.log('{name} {version}')\n"


class Registry:
    """`url` is what npm is to be pointed at; `asked` are the paths that it asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self._documents: dict[str, dict[str, Any]] = {}
        self._tarballs: dict[str, bytes] = {}

    def add(self, name: str, version: str, files: dict[str, str], **manifest: Any) -> None:
        """One version of a package; `manifest` are further fields of its package.json."""
        about = {"name": name, "version": version, **manifest}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for path, text in {"package.json": json.dumps(about), **files}.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size, entry.mode = len(text.encode()), 0o755
                tar.addfile(entry, io.BytesIO(text.encode()))
        content = packed.getvalue()
        path = f"/{name}/-/{version}.tgz"
        self._tarballs[path] = content
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        document = self._documents.setdefault(name, {"name": name, "versions": {}})
        document["dist-tags"] = {"latest": version}
        dist = {"tarball": self.url + path, "integrity": integrity}
        document["versions"][version] = {**about, "dist": dist}

    def add_program(self, name: str, version: str, command: str, text: str = "") -> None:
        """One that says its version, or does what its text says."""
        script = text or PRINTS_VERSION.format(name=command, version=version)
        self.add(name, version, {"program.js": script}, bin={command: "program.js"})

    def answer(self, path: str) -> bytes | None:
        self.asked.append(path)
        if path in self._tarballs:
            return self._tarballs[path]
        document = self._documents.get(path.removeprefix("/"))
        return None if document is None else json.dumps(document).encode()


@contextmanager
def npm_registry() -> Iterator[Registry]:
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = registry.answer(unquote(self.path))
            content = found if found is not None else b'{"error": "not found"}'
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,))
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

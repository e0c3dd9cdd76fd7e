"""The generator's ceiling: bytes in on a line go out unread to the readers of that line.

It parses no frame and keeps nothing, so what it reaches is what sockets, the kernel and the
generator allow; a measured server near this number would mean the generator was measured.
"""

import base64
import hashlib
import select
import socket
import sys

READ_BYTES = 262144
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
_READY = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


class Passthrough:
    """One epoll loop; sockets block, which is safe because the generator always reads."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port), backlog=4096)
        self._poll = select.epoll()
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        self._new: dict[int, socket.socket] = {}
        self._lines: dict[int, tuple[socket.socket, list[socket.socket]]] = {}
        self._readers: dict[str, list[socket.socket]] = {}
        self._buffer = bytearray(READ_BYTES)

    def serve(self) -> None:
        """Until the process is ended."""
        view = memoryview(self._buffer)
        while True:
            for fd, _ in self._poll.poll():
                line = self._lines.get(fd)
                if line is None:
                    self._greet(fd)
                    continue
                size = line[0].recv_into(view)
                if not size:
                    self._hang_up(fd)
                    continue
                for reader in line[1]:
                    self._pass_on(reader, view[:size])

    def _greet(self, fd: int) -> None:
        if fd == self._listener.fileno():
            sock, _ = self._listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._new[sock.fileno()] = sock
            self._poll.register(sock.fileno(), select.EPOLLIN)
            return
        sock = self._new.pop(fd)
        # The generator sends a request in one piece and waits for the answer.
        head = sock.recv(READ_BYTES)
        self._poll.unregister(fd)
        path = head.split(b" ", 2)[1].decode() if head else "/ready"
        kind, _, name = path.strip("/").partition("/")
        if kind == "line":
            self._poll.register(fd, select.EPOLLIN)
            self._lines[fd] = (sock, self._readers.setdefault(name, []))
            sock.sendall(_accepted(head))
        elif kind == "stream":
            self._readers.setdefault(name, []).append(sock)
            sock.sendall(_STREAM_HEAD)
        else:
            sock.sendall(_READY)
            sock.close()

    def _hang_up(self, fd: int) -> None:
        sock, readers = self._lines.pop(fd)
        self._poll.unregister(fd)
        for gone in (sock, *readers):
            gone.close()
        readers.clear()

    @staticmethod
    def _pass_on(reader: socket.socket, data: memoryview) -> None:
        try:
            reader.sendall(data)
        except OSError:
            reader.close()


def _accepted(head: bytes) -> bytes:
    key = next(
        line.split(b":", 1)[1].strip()
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"sec-websocket-key:")
    )
    accept = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


if __name__ == "__main__":
    Passthrough(int(sys.argv[1])).serve()

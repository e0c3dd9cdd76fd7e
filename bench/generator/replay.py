"""Replay: how long a reader that comes back waits for the last events of a session.

Timed from the request being sent to the last event being there; connecting is not counted.
"""

import re
import select
import socket
import time

from bench.commands import MARK, Replay, ReplayResult, StreamSpec
from bench.generator.frames import get_request
from bench.generator.links import HOST, Line, LinkError, Reader, token_frame

READ_BYTES = 262144
TIMEOUT_S = 10.0  # in which nothing arrives
AHEAD_EVENTS = 1_000  # of its reader, who is cut off by a server that has too much for him
TAIL_BYTES = 4096  # of what was read: the last id is in it
_ID = re.compile(rb"^id: ?(\d+)\s", re.MULTILINE)


def run_replay(
    command: Replay, lines: list[Line], streams: list[StreamSpec], readers: list[Reader]
) -> ReplayResult:
    """Fill the log of stream 0 with its one live reader attached, then read it `times` times."""
    last_id = _publish(command, lines[0], streams[0], readers[0]) if command.publish else 0
    path = command.path.replace("{after}", str(last_id - command.events))
    request = get_request(path, command.port, command.headers)
    times_ms = []
    for _ in range(command.times):
        with socket.create_connection((HOST, command.port), timeout=TIMEOUT_S) as sock:
            times_ms.append(_timed(sock, request, command.events))
    return ReplayResult(times_ms)


def _publish(command: Replay, line: Line, spec: StreamSpec, reader: Reader) -> int:
    """Returns the id of the last event, 0 where a side's ids are not numbers."""
    frame = token_frame(line, spec)
    data = reader.early
    sent, arrived = 0, data.count(MARK)
    poll = select.epoll()
    poll.register(reader.sock.fileno(), select.EPOLLIN)
    until = time.perf_counter() + TIMEOUT_S
    while arrived < command.publish or not data.endswith((b"\n\n", b"\n\r\n")):
        if time.perf_counter() > until:
            raise LinkError(f"{arrived} of {command.publish} events arrived")
        while sent < command.publish and sent - arrived < AHEAD_EVENTS:
            line.send_now(frame)
            sent += 1
        line.drain()
        if poll.poll(0.05):
            heard = reader.sock.recv(READ_BYTES)
            if not heard:
                raise LinkError("the server closed a reader")
            arrived += heard.count(MARK)
            data = (data + heard)[-TAIL_BYTES:]
            until = time.perf_counter() + TIMEOUT_S
    poll.close()
    ids = _ID.findall(data)
    return int(ids[-1]) if ids else 0


def _timed(sock: socket.socket, request: bytes, events: int) -> float:
    started = time.perf_counter()
    sock.sendall(request)
    count = 0
    first = b""
    while count < events:
        heard = sock.recv(READ_BYTES)
        if not heard:
            raise LinkError(f"the replay ended after {count} events: {first!r}")
        first = first or heard[:400]
        count += heard.count(MARK)
    took_ms = (time.perf_counter() - started) * 1000
    if count != events:
        raise LinkError(f"the replay gave {count} events instead of {events}")
    return took_ms

"""A plain relay as one writes it first: aiohttp, JSON, one awaited write per event and reader.

Keeps nothing, checks no one, replays nothing: a peer for the benchmark, started by its side.
"""

import asyncio
import json
import sys
from collections import defaultdict

from aiohttp import WSMsgType, web

FRAME_BYTES_MAX = 10 * 1024 * 1024
Readers = defaultdict[str, set[web.StreamResponse]]
READERS: web.AppKey[Readers] = web.AppKey("readers")


async def line(request: web.Request) -> web.WebSocketResponse:
    """Events in."""
    socket = web.WebSocketResponse(max_msg_size=FRAME_BYTES_MAX, compress=False)
    await socket.prepare(request)
    readers = request.app[READERS]
    last_ids: defaultdict[str, int] = defaultdict(int)
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        event = json.loads(message.data)
        if event["type"] != "sse_event":
            continue
        session_id = event["session_id"]
        last_ids[session_id] += 1
        text = f"id: {last_ids[session_id]}\ndata: {event['data']}\n\n".encode()
        for reader in tuple(readers[session_id]):
            await reader.write(text)
    return socket


async def stream(request: web.Request) -> web.StreamResponse:
    """Events out."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    readers = request.app[READERS][request.match_info["session_id"]]
    readers.add(response)
    try:
        await asyncio.Event().wait()  # until the reader hangs up and aiohttp cancels
    finally:
        readers.discard(response)
    return response


async def ready(request: web.Request) -> web.Response:
    """For the suite to see that the server is up."""
    return web.Response(text="ok")


def main() -> None:
    app = web.Application()
    readers: Readers = defaultdict(set)
    app[READERS] = readers
    app.router.add_get("/line", line)
    app.router.add_get("/stream/{session_id}", stream)
    app.router.add_get("/ready", ready)
    web.run_app(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        access_log=None,
        print=None,
        handler_cancellation=True,
        shutdown_timeout=1.0,
        backlog=4096,
    )


if __name__ == "__main__":
    main()

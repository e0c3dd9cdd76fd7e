"""A plain relay on Starlette and uvicorn, with uvloop: a queue for each reader, JSON as it comes.

Keeps nothing, checks no one, replays nothing: a peer for the benchmark, started by its side.
"""

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

readers: defaultdict[str, set[asyncio.Queue[str]]] = defaultdict(set)


async def line(socket: WebSocket) -> None:
    """Events in."""
    await socket.accept()
    last_ids: defaultdict[str, int] = defaultdict(int)
    try:
        while True:
            event = json.loads(await socket.receive_text())
            if event["type"] != "sse_event":
                continue
            session_id = event["session_id"]
            last_ids[session_id] += 1
            text = f"id: {last_ids[session_id]}\ndata: {event['data']}\n\n"
            for queue in readers[session_id]:
                queue.put_nowait(text)
    except WebSocketDisconnect:
        return


async def stream(request: Request) -> Response:
    """Events out."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    mine = readers[request.path_params["session_id"]]
    mine.add(queue)

    async def events() -> AsyncIterator[str]:
        try:
            while True:
                yield await queue.get()
        finally:
            mine.discard(queue)

    return StreamingResponse(events(), media_type="text/event-stream")


async def ready(request: Request) -> Response:
    """For the suite to see that the server is up."""
    return PlainTextResponse("ok")


def main() -> None:
    routes = [
        WebSocketRoute("/line", line),
        Route("/stream/{session_id}", stream),
        Route("/ready", ready),
    ]
    uvicorn.run(
        Starlette(routes=routes),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        access_log=False,
        log_level="warning",
        ws_per_message_deflate=False,
        backlog=4096,
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()

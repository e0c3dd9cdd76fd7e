"""A model server that costs next to nothing: streams OpenAI chat completions from memory.

    python -m bench.node.model

prints its base URL and serves until its input ends. An answer's first word is the time at which
it was written, so that a reader knows how long it travelled. A prompt that starts with `tool`
first gets a call of `read_file`.
"""

import asyncio
import json
import sys
import time
from typing import Any

WORDS = [f"word{number} " for number in range(20)]
ARGUMENTS = '{"path": "bench.txt"}'


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "gpt-bench"}
    return b"data: " + json.dumps({**body, "choices": [choice]}).encode() + b"\n\n"


_TOOL = [
    _chunk(
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call-1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": ARGUMENTS},
                }
            ],
        }
    ),
    _chunk({}, "tool_calls"),
]
_TEXT = [_chunk({"content": word}) for word in WORDS] + [_chunk({}, "stop")]
_USAGE = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"gpt-bench",'
    b'"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}}\n\n'
)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def _wants_tool(request: dict[str, Any]) -> bool:
    last = request["messages"][-1]
    return last["role"] == "user" and str(last["content"]).startswith("tool")


def _framed(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"POST "):
                writer.write(_NOT_FOUND)  # it lists no models, and names no windows
                continue
            length = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            request = json.loads(await reader.readexactly(length))
            writer.write(_HEAD)
            if _wants_tool(request):
                pieces = _TOOL
            else:
                stamp = _chunk({"role": "assistant", "content": f"{time.monotonic_ns()} "})
                writer.write(_framed(stamp))
                pieces = _TEXT
            for piece in (*pieces, _USAGE, b"data: [DONE]\n\n"):
                writer.write(_framed(piece))
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=2**24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())

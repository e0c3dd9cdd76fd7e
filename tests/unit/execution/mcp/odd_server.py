"""An MCP server for tests, by hand, so that it can do what a good one never does.

Each tool is a way to behave. `python odd_server.py silent` never greets; its process id is in the
file `pid` of the folder it runs in.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = [
    "echo",
    "picture",
    "env",
    "die",
    "hang",
    "flood",
    "child",
    "fail",
    "refuse",
    "noise",
    "pid",
    "escape",
]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], "isError": is_error}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "echo":
            return text(arguments.get("text", ""))
        case "picture":
            image = {"type": "image", "data": arguments["text"], "mimeType": "image/png"}
            return {"content": [image]}
        case "env":
            return text(json.dumps(dict(os.environ)))
        case "pid":
            return text(str(os.getpid()))
        case "die":
            os._exit(7)
        case "hang":
            time.sleep(600)
        case "flood":
            while True:
                sys.stdout.write("x" * 1_000_000)
        case "noise":
            sys.stdout.write("this is no JSON\n")
            sys.stderr.write("a word on the error output\n")
            sys.stderr.flush()
        case "chatter":
            sys.stderr.write("one of very many lines\n" * 100_000)
            sys.stderr.flush()
        case "child":
            child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
            return text(str(child.pid))
        case "escape":
            return text(str(subprocess.Popen(["sleep", "600"], start_new_session=True).pid))
        case "fail":
            return text("it went wrong", is_error=True)
    return text("done")


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            return {
                "result": {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }
            }
        case "tools/list":
            tools = [{"name": name, "description": name, "inputSchema": SCHEMA} for name in TOOLS]
            tools[0]["annotations"] = {"readOnlyHint": True}
            return {"result": {"tools": tools}}
        case "tools/call" if params["name"] != "refuse":
            return {"result": called(params["name"], params.get("arguments") or {})}
    return {"error": {"code": -32601, "message": "no such thing"}}


if __name__ == "__main__":
    if "silent" in sys.argv:
        Path("pid").write_text(f"{os.getpid()}\n")
        time.sleep(600)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            send({"id": message["id"], **answer(message)})

"""A program that speaks stream-json as Claude Code does, and otherwise does what a test says.

`PLAY` names a file: for each message of the person a list of steps. `TOLD` is where it writes what
it was told: its arguments, then each line of its input. With `SLOW` its first start never answers.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def say(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Scripted:
    def __init__(self) -> None:
        self.plays: list[list[Any]] = json.loads(Path(os.environ["PLAY"]).read_text())
        self.told = Path(os.environ["TOLD"])
        self.number = 0
        self.is_deaf = False
        self.interrupt: Json = {}
        self.tell({"argv": sys.argv[1:], "env": sorted(os.environ)})

    def tell(self, line: Json) -> None:
        with self.told.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def hear(self) -> Json:
        text = sys.stdin.readline()
        if not text:
            os._exit(0)
        line: Json = json.loads(text)
        self.tell(line)
        return line

    def run(self) -> None:
        if "SLOW" in os.environ and len(self.told.read_text().splitlines()) == 1:
            time.sleep(600)  # the first start never comes to its end
        while True:
            line = self.hear()
            if line["type"] == "control_request" and not self.is_deaf:
                self.answer(line)
            elif line["type"] == "user":
                steps = self.plays.pop(0) if self.plays else [["result", {"result": "ok"}]]
                for step in steps:
                    self.do(*step)

    def answer(self, line: Json) -> None:
        body = {"subtype": "success", "request_id": line["request_id"], "response": {}}
        say({"type": "control_response", "response": body})
        if line["request"]["subtype"] == "interrupt":
            self.do("result", {"subtype": "error_during_execution", "is_error": True})

    def do(self, what: str, value: Any = None) -> None:
        match what:
            case "line":
                say(value)
            case "raw":
                sys.stdout.write(value + "\n")
                sys.stdout.flush()
            case "flood":
                sys.stdout.write("x" * value + "\n")
                sys.stdout.flush()
            case "result":
                say({"type": "result", "subtype": "success", "session_id": "c-1", **value})
            case "ask":
                self.number += 1
                name = f"q{self.number}"
                say({"type": "control_request", "request_id": name, "request": value})
                while self.hear()["type"] != "control_response":
                    pass
            case "until interrupted":
                while (line := self.hear()).get("request", {}).get("subtype") != "interrupt":
                    pass
                self.interrupt = line
            case "interrupted":
                self.answer(self.interrupt)
            case "leave":
                subprocess.Popen(["sleep", "600"])  # which holds our output
            case "deaf":
                self.is_deaf = True
            case "exit":
                sys.stderr.write("it broke\n")
                sys.stderr.flush()
                os._exit(value)
            case "hang":
                time.sleep(600)


if __name__ == "__main__":
    Scripted().run()

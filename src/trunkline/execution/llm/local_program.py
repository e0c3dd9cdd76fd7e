"""The program that runs the local model: `python -m trunkline.execution.llm.local_program`.

Its first line of input is JSON: the model file, a name for it, a key. It writes JSON lines:
{"stage": "loading"}, {"stage": "ready", "base_url"} or {"stage": "failed", "message"}.

It never outlives the daemon that started it, however that died and whatever this program is in the
middle of: the kernel ends it with its parent, and a thread ends it with its input. It always leaves
at once: the library's own end waits for threads that may never be done.
"""

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
import threading
from typing import IO, Any

LOCAL_MODEL_CONTEXT_TOKENS = 4_096
LOCAL_MODEL_PARALLEL = 2  # answers at once

_PR_SET_PDEATHSIG = 1


def main() -> None:
    code = 1
    try:
        code = _run()
    finally:
        os._exit(code)


def _run() -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # A parent that died before the kernel was told has closed this input.
    wanted = json.loads(sys.stdin.readline())
    watch = threading.Thread(target=_end_with_input, daemon=True)
    watch.start()
    news = _news_only()
    _tell(news, stage="loading")
    try:
        server = _serve(wanted["path"], wanted["model"], wanted["api_key"])
    except Exception as error:
        _tell(news, stage="failed", message=f"{type(error).__name__}: {error}"[:500])
        return 1
    _tell(news, stage="ready", base_url=f"{server.listening_address}/v1")
    watch.join()
    return 0


def _end_with_input() -> None:
    """The daemon holds the other end, and never writes to it again."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdin.read()
    os._exit(0)


def _news_only() -> IO[str]:
    """Where the news go. The library's own chatter goes nowhere: nobody reads it, and a full
    pipe would stop the server."""
    news = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    return news


def _tell(news: IO[str], **message: str) -> None:
    news.write(json.dumps(message) + "\n")
    news.flush()


def _serve(path: str, model: str, api_key: str) -> Any:
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {model}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # Pages in a browser can reach loopback too; without the key they get nothing.
    params.api_keys = [api_key]
    params.n_parallel = LOCAL_MODEL_PARALLEL
    params.n_ctx = LOCAL_MODEL_CONTEXT_TOKENS * LOCAL_MODEL_PARALLEL
    # One thread is fast enough for a model this small. Several wait for each other in busy
    # loops, and beside other work that is ten times slower.
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = 1
    params.ui = False
    params.verbosity = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()

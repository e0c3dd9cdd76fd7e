"""What programs inside of a fence try to reach: made outside of it."""

import ctypes
import os
import socket
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trunkline.execution.home import Home


@contextmanager
def made(place: Path, victim: int) -> Iterator[dict[str, str]]:
    """What others have on this machine, and what must stay theirs."""
    home = Home(place / "home")
    home.make()
    other = home.session("s-2") / "memory" / "conversation.md"
    other.parent.mkdir(parents=True)
    other.write_text("what s-2 said")
    token = place / "data" / "admin-token"
    token.parent.mkdir()
    token.write_text("admin")
    (token.parent / "no-group").mkdir()
    mode_file = token.parent / "mode"
    mode_file.write_text("x")
    os.close(home.claim())
    (home.outbox / "s-2.log").write_text("unsent")
    user = place / "user"
    (user / ".ssh").mkdir(parents=True)
    (user / ".ssh" / "id").write_text("key")
    key = Path("/dev/shm") / f"trunkline-test-{os.getpid()}"
    key.write_text("sk-key")
    common = Path("/tmp") / f"trunkline-test-{os.getpid()}"
    common.write_text("x")
    handle, plain = tempfile.mkstemp(prefix="trunkline-test-", dir="/var/tmp")
    os.close(handle)
    memory = ctypes.CDLL(None).shmget(os.getpid(), 4096, 0o1600)
    abstract = f"trunkline-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as path_socket, socket.socket(socket.AF_UNIX) as nameless:
        path_socket.bind(str(place / "s.sock"))
        path_socket.listen()
        nameless.bind("\0" + abstract)
        nameless.listen()
        yield {
            "other_file": str(other),
            "admin_token": str(token),
            "mode_file": str(mode_file),
            "plain_file": plain,
            "common_file": str(common),
            "memory_key": str(os.getpid()),
            "lock": str(home.run / "daemon.lock"),
            "outbox": str(home.outbox),
            "shm_key": str(key),
            "socket": str(place / "s.sock"),
            "abstract": abstract,
            "victim": str(victim),
            "daemon": str(os.getpid()),
            "python": sysconfig.get_path("purelib"),
            "home": str(user),
        }
    ctypes.CDLL(None).shmctl(memory, 0, None)
    for path in (key, common, Path(plain)):
        path.unlink()

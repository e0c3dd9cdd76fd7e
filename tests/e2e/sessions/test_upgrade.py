"""A database of the version before records were projections opens, and its sessions go on.

`before_projections/` holds one that was killed with two turns and a question open.
"""

import gzip
from pathlib import Path

from tests.support.control import ADMIN, Control, TestUser, running

OLD = Path(__file__).parent / "before_projections"
ENDED = "01a1e120-d62d-7a11-9c31-26993cf1fccd"
OPEN = "01a1e120-d63a-7b77-8bba-3954da1fabbf"
ASKING = "01a1e120-d644-7980-9a21-5ecb8a34ef7c"
CLOSED = "01a1e120-d64d-7995-8e4a-7db955040fbe"


async def turns(user: TestUser, session: str) -> list[tuple[str, str, str | None]]:
    snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
    return [(one["message"], one["state"], one["answer"]) for one in snapshot["turns"]]


def admin_of(control: Control) -> TestUser:
    return TestUser(control, "admin", ADMIN)


async def test_an_old_database_opens_and_what_was_open_is_open(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("trunkline.db", "log.db"):
        (data / name).write_bytes(gzip.decompress((OLD / f"{name}.gz").read_bytes()))
    async with running(data) as control:
        admin = admin_of(control)
        assert await turns(admin, ENDED) == [("first", "completed", "hello")]
        assert [one[:2] for one in await turns(admin, OPEN)] == [
            ("second", "sent"),
            ("third", "sent"),
        ]
        waiting = await admin.ok("GET", "/approvals")
        assert [(one["session_id"], one["request_id"]) for one in waiting["items"]] == [
            (ASKING, "q")
        ]
        assert (await admin.ok("GET", f"/sessions/{CLOSED}"))["status"] == "closed"
        await admin.ok("DELETE", f"/sessions/{OPEN}")
        assert [one[1] for one in await turns(admin, OPEN)] == ["failed", "failed"]
    async with running(data) as control:  # and again, as one of today
        events = await admin_of(control).ok("GET", f"/sessions/{OPEN}/events")
        kinds = [one["event"]["type"] for one in events["items"]]
        assert kinds.count("execution_error") == 2
        assert kinds[-1] == "session_closed"

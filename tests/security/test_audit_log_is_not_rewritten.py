"""Found open: an emptied audit log passed `verify`, and what a machine reported looked like what
the control plane had seen itself."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, text, update

from tests.support.control import LocalControl, running
from tests.support.eventually import eventually
from trunkline.control.services.audit_heads import AuditHeads, Head
from trunkline.control.store.service_schema import audit, audit_head

HASH = "ab" * 32


async def is_sound(control: LocalControl) -> bool:
    return bool((await control.ok("GET", "/audit/verify"))["ok"])


async def attack(control: LocalControl, *statements: Any) -> None:
    async with control.core.store.write() as connection:
        for statement in statements:
            await connection.execute(statement)


EMPTIED = {
    "the entries": [delete(audit)],
    "the entries and the head": [delete(audit), delete(audit_head)],
    "the entries, with a head as before the first start": [
        delete(audit),
        update(audit_head).values(seq=0, sealed=None),
    ],
    "the entries, with a new row for the head": [
        delete(audit),
        delete(audit_head),
        insert(audit_head).values(id=1, seq=0),
    ],
}


@pytest.mark.parametrize("statements", EMPTIED.values(), ids=EMPTIED)
async def test_nobody_empties_the_log_unseen_not_even_over_a_restart(
    tmp_path: Path, statements: list[Any]
) -> None:
    async with running(tmp_path / "data") as control:
        assert await is_sound(control)
        await attack(control, *statements)
        assert not await is_sound(control)
    async with running(tmp_path / "data") as control:
        assert not await is_sound(control)


async def test_nobody_puts_back_an_old_log_with_its_own_sealed_head(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        async with control.core.store.read() as connection:
            old = (await connection.execute(text("SELECT sealed FROM audit_head"))).scalar()
            count = (await connection.execute(text("SELECT max(seq) FROM audit"))).scalar_one()
        await control.user()
    async with running(tmp_path / "data") as control:
        await attack(
            control,
            delete(audit).where(audit.c.seq > count),
            update(audit_head).values(seq=count, sealed=old),
        )
        found = await control.ok("GET", "/audit/verify")
        assert (found["ok"], found["first_broken"]["seq"]) == (False, count + 1)
        assert "noted as the head" in found["first_broken"]["reason"]


async def test_a_head_that_was_noted_elsewhere_is_compared_with_the_chain(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        head = await control.ok("GET", "/audit/head")
        await control.user()
        verify = f"/audit/verify?seq={head['seq']}&hash="
        assert (await control.ok("GET", verify + head["hash"]))["ok"] is True
        found = await control.ok("GET", verify + HASH)
        assert (found["ok"], found["first_broken"]["seq"]) == (False, head["seq"])
        missing = await control.ok("GET", f"/audit/verify?seq=99&hash={HASH}")
        assert "99 are missing" in missing["first_broken"]["reason"]
        for query in ("seq=1", f"hash={HASH}", "seq=1&hash=xyz", f"seq=0&hash={HASH}"):
            assert (await control.call("GET", f"/audit/verify?{query}"))[0] == 400
        member = await control.user("bob")
        assert (await member.call("GET", "/audit/head"))[0] == 403


async def test_the_noted_heads_are_for_this_user_alone_and_only_grow(tmp_path: Path) -> None:
    async with running(tmp_path / "data"):
        pass
    file = tmp_path / "data" / "audit-heads"
    first = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    async with running(tmp_path / "data"):
        pass
    second = file.read_text()
    assert second.startswith(first)
    assert len(second.splitlines()) > len(first.splitlines())


async def test_a_machines_word_is_marked_as_its_own_whatever_it_says(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        async with await user.vm() as vm:
            session = await user.session()
            forged = {"event": "token.revoked", "details": {"source": "control", "id": "x"}}
            await vm.request(session, "audit_log", source="control", **forged)
        page = await control.ok("GET", "/audit")
        entry = next(one for one in page["items"] if one["event"] == "token.revoked")
        assert entry["source"] == "machine"
        await attack(
            control, update(audit).where(audit.c.seq == entry["seq"]).values(source="control")
        )
        found = await control.ok("GET", "/audit/verify")
        assert found["first_broken"]["reason"] == f"entry {entry['seq']} was changed"
        await attack(control, update(audit).where(audit.c.seq == entry["seq"]).values(source=None))
        assert not await is_sound(control)


async def test_who_breaks_the_log_keeps_nobody_from_acting(tmp_path: Path) -> None:
    """A leaked token can be revoked and a session closed, though neither can be written down."""
    async with running(tmp_path / "data") as control:
        user = await control.user()
        issued = await user.ok("POST", f"/users/{user.id}/token")
        async with await user.vm() as vm:
            session = await user.session()
            await user.say(session, "hello")
            await attack(control, delete(audit), delete(audit_head))
            await vm.event(session, type="approval_request", request_id="q", tool_name="bash")

            async def asked() -> list[str]:
                return [one["id"] for one in (await user.ok("GET", "/approvals"))["items"]]

            (approval,) = await eventually(asked)
            await user.ok("POST", f"/approvals/{approval}", {"confirmed": False})
            await user.ok("DELETE", f"/sessions/{session}")
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        assert (await control.call("GET", "/me", token=issued["token"]))[0] == 401
        assert not await is_sound(control)


def test_heads_are_noted_when_due_and_what_is_no_line_harms_nothing(tmp_path: Path) -> None:
    file = tmp_path / "audit-heads"
    heads = AuditHeads(file, entries_per_line=10)
    assert (heads.newest, heads.read()) == (None, {})
    day_ms = 24 * 3600 * 1000
    heads.note(Head(0, HASH), 0)
    heads.note(Head(9, HASH), 1)  # not yet
    heads.note(Head(10, HASH), 2)
    heads.note(Head(11, HASH), 1 + day_ms)  # not yet
    heads.note(Head(11, HASH), 2 + day_ms)
    heads.note(Head(11, HASH), 9 + 9 * day_ms)  # nothing new
    heads.note(Head(12, HASH), 3 + day_ms, always=True)
    assert list(heads.read()) == [0, 10, 11, 12]
    with file.open("a") as torn:
        torn.write("x" * 100_000 + "\nnonsense\n13 abc")
    again = AuditHeads(file, entries_per_line=10)
    again.note(Head(30, HASH), 0)
    assert AuditHeads(file).newest == Head(30, HASH)
    assert list(again.read()) == [0, 10, 11, 12, 30]


async def test_entries_wait_for_nobody_while_heads_cannot_be_noted(tmp_path: Path) -> None:
    """A full disk costs the anchor, not the entry."""
    async with running(tmp_path / "data") as control:
        file = tmp_path / "data" / "audit-heads"
        kept = file.read_bytes()
        file.unlink()
        file.mkdir()
        await control.user()
        await control.core.services.audit.anchor(always=True)
        file.rmdir()
        file.write_bytes(kept)

        async def sound() -> bool:
            return await is_sound(control)

        await eventually(sound)


@pytest.mark.parametrize("lost", ["trunkline.db", "keys/sealing.key"])
async def test_a_log_that_takes_no_more_entries_is_not_overlooked(
    tmp_path: Path, lost: str
) -> None:
    data = tmp_path / "data"
    async with running(data) as control:
        assert (await control.ok("GET", "/server"))["is_audit_broken"] is False
        assert b"audit_broken 0.0" in control.core.exposition.render()
    for path in data.glob(f"{lost}*"):
        path.unlink()
    async with running(data) as control:
        assert (await control.ok("GET", "/server"))["is_audit_broken"] is True
        assert b"audit_broken 1.0" in control.core.exposition.render()


async def test_after_a_lost_key_an_administrator_begins_a_new_chain_for_all_to_see(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with running(data) as control:
        assert (await control.call("POST", "/audit/restart", {"reason": "x"}))[0] == 409
    (data / "keys" / "sealing.key").unlink()
    async with running(data) as control:
        assert not await is_sound(control)
        member = await control.user("bob")
        assert (await member.call("POST", "/audit/restart", {"reason": "x"}))[0] == 403
        said = {"reason": "the disk died; api_key=geheimnis"}
        head = await control.ok("POST", "/audit/restart", said)
        await control.user("eve")
        found = await control.ok("GET", "/audit/verify")
        assert (found["ok"], found["earlier"][0]["last"]) == (True, head["seq"] - 1)
        assert (await control.ok("GET", "/server"))["is_audit_broken"] is False
        entries = (await control.ok("GET", "/audit?event=audit.restarted"))["items"]
        assert [one["details"]["reason"] for one in entries] == ["the disk died; api_key=***"]


async def test_nor_is_one_that_is_broken_while_the_server_runs(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        await attack(control, delete(audit), update(audit_head).values(seq=0, sealed=None))
        await control.core.services.audit.anchor()
        assert (await control.ok("GET", "/server"))["is_audit_broken"] is True


async def test_after_a_lost_database_a_new_log_begins_where_the_operator_says_so(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with running(data) as control:
        await control.user()
    for path in (*data.glob("trunkline.db*"), data / "audit-heads"):
        path.unlink()
    async with running(data) as control:
        await control.user()
        assert (await control.ok("GET", "/server"))["is_audit_broken"] is False
        assert await is_sound(control)

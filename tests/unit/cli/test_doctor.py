"""The doctor: right about what is there, helpful about what is not, silent about secrets."""

import re
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from trunkline.cli.check import Check
from trunkline.cli.doctor import run_all
from trunkline.cli.running_server import Running
from trunkline.control.disk_room import room_of
from trunkline.control.settings import Settings
from trunkline.control.store.migrate import HEADS


def checks(
    tmp_path: Path,
    env: dict[str, str] | None = None,
    **settings: object,
) -> dict[str, Check]:
    chosen = Settings(data=str(tmp_path / "data"), port=0, **settings)  # type: ignore[arg-type]
    return {check.name: check for check in run_all(chosen, env or {}, tmp_path / "home")}


def test_a_usable_machine_has_no_failing_check(tmp_path: Path) -> None:
    found = checks(tmp_path)
    assert [check.name for check in found.values() if check.state == "fail"] == []
    assert {"Python", "Database", "Port", "Node", "Runtime openclaw"} <= set(found)


def test_everything_that_is_not_well_says_how_to_fix_it(tmp_path: Path) -> None:
    for check in checks(tmp_path).values():
        assert check.state == "ok" or check.fix


def test_a_taken_port_is_seen(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        settings = Settings(data=str(tmp_path), port=other.getsockname()[1])
        other.settimeout(0)
        (port,) = [one for one in run_all(settings, {}, tmp_path) if one.name == "Port"]
    assert port.state == "fail"
    assert "--port" in port.fix


def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    url = "postgresql+asyncpg://me:hunter2@127.0.0.1:1/x"
    check = checks(tmp_path, database_url=url)["Database"]
    assert check.state == "fail"
    assert "hunter2" not in check.detail
    assert "127.0.0.1:1" in check.detail


@pytest.mark.parametrize(
    ("version", "state", "said"),
    [
        (None, "ok", "SQLite in the data folder$"),
        (HEADS["records"], "ok", "SQLite in the data folder$"),
        ("records_0013", "ok", r"next start upgrades it \(records_0013 to .* copies it first"),
        ("records_9999", "fail", "used by a newer Trunkline"),
        ("31ab", "fail", "tables of another program"),
    ],
)
def test_what_the_next_start_does_with_the_database_is_said_before(
    tmp_path: Path, version: str | None, state: str, said: str
) -> None:
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data" / "trunkline.db")) as made, made:
        if version is not None:
            made.execute("CREATE TABLE alembic_version (version_num)")
            made.execute("INSERT INTO alembic_version VALUES (?)", (version,))
    check = checks(tmp_path)["Database"]
    assert check.state == state
    assert re.search(said, check.detail)


def test_a_database_that_is_none_is_seen(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "trunkline.db").write_bytes(b"\0no database" * 1000)
    check = checks(tmp_path)["Database"]
    assert check.state == "fail"
    assert "backups" in check.fix


def test_a_data_folder_that_cannot_be_made_is_seen(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert checks(tmp_path)["Data folder"].state == "fail"


def test_keys_are_seen_and_not_shown(tmp_path: Path) -> None:
    check = checks(tmp_path, {"OPENAI_API_KEY": "sk-secret-secret"})["Model keys"]
    assert (check.state, "OPENAI_API_KEY" in check.detail) == ("ok", True)
    assert "secret" not in check.detail


def test_what_nobody_uses_is_not_recommended(tmp_path: Path) -> None:
    found = checks(tmp_path)
    assert not {"Bus", "PostgreSQL driver"} & set(found)
    assert not [one for one in found.values() if "npm install" in one.fix]


def running(**changes: object) -> Running:
    state: dict[str, object] = {"version": "1", "pid": 7, "url": "http://127.0.0.1:9000"}
    state |= {"data": "/srv/data", "database": "postgresql://db:5432/x", "settings": {}}
    state |= {"providers": ["openai"], "problem": None, "is_audit_broken": False, "near_quotas": []}
    state |= {"disk": {"free_bytes": 5 * 2**30, "total_bytes": 2**40, "database_bytes": 2**20}}
    return Running(state | changes, [])


def test_a_server_that_runs_is_what_is_looked_at(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path), database_url="postgresql+asyncpg://127.0.0.1:1/other")
    found = {one.name: one for one in run_all(settings, {}, tmp_path, running=running())}
    assert found["Server"].detail == "Trunkline 1, process 7, at http://127.0.0.1:9000"
    assert (found["Database"].state, found["Database"].detail) == ("ok", "postgresql://db:5432/x")
    assert "9000" in found["Port"].detail
    assert (found["Model keys"].state, "openai" in found["Model keys"].detail) == ("ok", True)
    ill = {
        one.name: one
        for one in run_all(settings, {}, tmp_path, running=running(problem="stalled\x1b[2J"))
    }
    assert ill["Server"].state == "fail"
    assert ill["Server"].detail.isprintable()


def test_an_audit_log_that_takes_no_more_entries_is_named(tmp_path: Path) -> None:
    for is_broken, state in ((False, "ok"), (True, "missing")):
        told = running(is_audit_broken=is_broken)
        found = {
            one.name: one
            for one in run_all(Settings(data=str(tmp_path)), {}, tmp_path, running=told)
        }
        audit = found["Audit log"]
        assert (audit.state, "AUDIT_BROKEN" in audit.detail) == (state, is_broken)


def test_a_disk_that_runs_low_is_named_with_what_can_be_done(tmp_path: Path) -> None:
    for low_bytes, state in ((0, "ok"), (2**62, "missing")):
        settings = Settings(data=str(tmp_path / "data"), low_disk_bytes=low_bytes)
        room = msgspec.to_builtins(room_of(settings))
        for told in (None, running(disk=room)):
            found = {one.name: one for one in run_all(settings, {}, tmp_path, running=told)}
            disk = found["Disk"]
            assert (disk.state, "Retention" in disk.fix) == (state, state == "missing")
            assert "free; the database takes 0" in disk.detail


def test_who_has_nearly_all_that_they_may_have_is_named(tmp_path: Path) -> None:
    near = [{"owner": "Ada\x1b[2J", "name": "stored_bytes", "used": 950, "max": 1_000}]
    told = running(near_quotas=near)
    found = run_all(Settings(data=str(tmp_path)), {}, tmp_path, running=told)
    quotas = next(one for one in found if one.name == "Quotas")
    assert (quotas.state, quotas.detail.isprintable()) == ("missing", True)
    assert "950 of 1,000 stored_bytes" in quotas.detail


def test_a_server_that_cannot_be_asked_is_said_to_run(tmp_path: Path) -> None:
    server = run_all(Settings(data=str(tmp_path)), {}, tmp_path, running="no token")[1]
    assert (server.name, server.state, "no token" in server.detail) == ("Server", "missing", True)


def test_a_machine_that_has_failed_says_why_and_that_it_is_tried_again(tmp_path: Path) -> None:
    detail = "died 9 times in a row (it is started again every 5 minutes)"
    machine = {"name": "this computer", "online": False, "state": "failed", "detail": detail}
    well = machine | {"name": "other", "online": True, "detail": None}
    told = Running(running().state, [machine, well])
    found = {
        one.name: one for one in run_all(Settings(data=str(tmp_path)), {}, tmp_path, running=told)
    }
    assert found["Machine 'this computer'"].state == "missing"
    assert detail in found["Machine 'this computer'"].detail
    assert found["Machine 'other'"].state == "ok"


def test_what_fence_is_in_force_is_said_of_each_machine(tmp_path: Path) -> None:
    words = {"a": "files, network, processes: bounded", "b": "no fence: this kernel has none"}
    machines = [
        {
            "name": name,
            "kind": "vm",
            "online": True,
            "fence": {"in_force": name == "a", "words": words[name]},
        }
        for name in words
    ]
    phone = {"name": "phone", "kind": "device", "online": True}
    told = Running(running().state, [], [*machines, phone])
    found = {
        one.name: one for one in run_all(Settings(data=str(tmp_path)), {}, tmp_path, running=told)
    }
    a, b = (found[f"Fence on {name!r}"] for name in words)
    assert [(one.state, one.detail) for one in (a, b)] == [
        ("ok", words["a"]),
        ("missing", words["b"]),
    ]
    assert "docs/guide/fence.md" in b.fix
    assert "Fence on 'phone'" not in found


def test_without_a_server_the_doctor_says_what_fence_this_host_can_have(tmp_path: Path) -> None:
    off = checks(tmp_path, fence="off")["Fence"]
    assert (off.state, "no fence" in off.detail) == ("missing", True)

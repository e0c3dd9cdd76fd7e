"""Flows of a daemon of the deployed kind, as the field notes describe it, on real sockets."""

import sys
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.support.control import LocalControl, TestUser
from tests.support.deployed_daemon import MIB, DeployedDaemon, scheduled
from tests.support.eventually import eventually, until
from tests.support.orgs import import_skill
from tests.support.told import said, started
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """With the rate limit of the document."""
    return {"mcp_allowed_hosts": "127.0.0.1"}


MANIFEST = b"---\nname: Maps\ndescription: d\nversion: 1.0\n---\nBody"


async def dialects(user: TestUser) -> list[str | None]:
    return [one["dialect"] for one in (await user.ok("GET", "/machines"))["items"]]


@pytest.mark.proves("notes-1-history-ends-with-the-message", "notes-1-known-by-its-habits")
async def test_ten_turns_are_each_answered_with_all_that_was_said_before(user: TestUser) -> None:
    async with await scheduled(user) as daemon:
        session = await user.session()
        for number in range(10):
            await user.say(session, f"question {number}")
            await user.until_turns(session, *["completed"] * (number + 1))
        snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
        assert [turn["answer"] for turn in snapshot["turns"]] == [
            f"question {number} ({2 * number + 1} messages)" for number in range(10)
        ]
        assert await dialects(user) == ["deployed"]
        told = daemon.of_type("user_message")
        assert [one["data"]["message"] for one in told] == [f"question {n}" for n in range(10)]


@pytest.mark.proves("notes-1-known-by-its-habits", "notes-1-empty-ticket")
async def test_a_daemon_with_an_empty_ticket_is_known_when_it_first_comes(user: TestUser) -> None:
    token = (await user.schedule())["token"]
    async with DeployedDaemon(user, token, "", memory=False) as daemon:
        assert await dialects(user) == ["deployed"]
        session = await user.session()
        await user.say(session, "hello")
        told = await daemon.expect("user_message")
        assert [one["content"] for one in told["data"]["history"]] == ["hello"]


@pytest.mark.proves("notes-1-a-frame-a-token", "notes-1-whole-text-at-the-end")
async def test_an_answer_of_2500_frames_arrives_whole_and_the_line_stays(user: TestUser) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        daemon.is_silent = True
        session = await user.session()
        pieces = [f"{number} " for number in range(2_500)]
        async with user.reader(session) as reader:
            await user.say(session, "count")
            await daemon.expect("user_message")
            await daemon.tokens(session, pieces)
            text = "".join(pieces)
            await daemon.event(session, type="execution_complete", final_response=text)
            end = await reader.until_type("execution_complete")
            assert reader.texts() == pieces
            assert end["final_response"] == text
        async with user.reader(session) as late:  # for whom the ring holds too little
            await late.until(lambda seen: any(one.name == "resync" for one in seen.events))
        await user.until_turns(session, "completed")
        snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
        assert snapshot["turns"][0]["answer"] == text
        await daemon.heartbeat()
        await daemon.ping()
        assert daemon.close_code is None


@pytest.mark.proves("notes-1-all-else-is-counted")
async def test_events_without_an_open_turn_are_counted_and_too_many_close_the_line(
    user: TestUser,
) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        session = await user.session()
        await daemon.expect("start_session")
        for _ in range(1_001):
            await daemon.event(session, type="text_chunk", content="unasked")
        assert await daemon.closed() == 4029


@pytest.mark.proves("notes-1-packages-are-trimmed")
async def test_a_skill_with_a_large_asset_comes_without_it(user: TestUser) -> None:
    files = {"SKILL.md": MANIFEST, "scripts/run.py": b"print()", "references/a.md": b"a"}
    await import_skill(user, {**files, "assets/world.bin": bytes(3 * MIB // 2)})
    async with await scheduled(user, dialect="deployed") as daemon:
        session = await user.session()
        await user.say(session, "where?")
        await user.until_turns(session, "completed")
        package = await until(lambda: daemon.packages.get("maps"))
        assert package is not None
        assert {one["path"] for one in package["files"]} == files.keys()
        assert daemon.close_code is None


@pytest.mark.proves(
    "notes-1-frames-of-1-mib", "notes-1-too-large-is-failed", "notes-1-known-by-its-habits"
)
@pytest.mark.parametrize(
    ("path", "status", "kept"),
    [("assets/world.bin", "completed", ["SKILL.md"]), ("scripts/world.py", "failed", None)],
)
async def test_a_package_over_which_the_daemon_has_closed_is_not_sent_to_it_again(
    user: TestUser, path: str, status: str, kept: list[str] | None
) -> None:
    await import_skill(user, {"SKILL.md": MANIFEST, path: bytes(3 * MIB // 2)})
    daemon = await scheduled(user)
    async with daemon:
        await user.session()
        await eventually(lambda: dialects(user), lambda seen: seen == ["deployed"])
    async with DeployedDaemon(user, daemon.token) as again:
        again.pending = daemon.pending
        (result,) = (await again.resume())["results"].values()
        assert result["status"] == status
        if kept is None:
            assert result["error"]["code"] == "RESULT_TOO_LARGE"
        else:
            assert [one["path"] for one in result["data"]["package"]["files"]] == kept
        await again.ping()
        assert again.close_code is None


@pytest.mark.proves("notes-1-set-by-hand", "notes-1-others-by-the-document")
@pytest.mark.parametrize("dialect", ["documented", None])
async def test_a_daemon_that_follows_the_document_is_served_by_the_document(
    user: TestUser, dialect: str | None
) -> None:
    """One that was said to follow it may do what it likes."""
    vm = await user.schedule(dialect=dialect)
    ticket = "" if dialect else vm["ticket"]
    async with ScriptedVm(user.ws_url, user.id, vm["token"], ticket) as line:
        session = await user.session(agent_config={"model": "m"})
        start = await started(line, session)
        assert ("agent_id" in start) is (dialect is None), "it may turn out to be the other kind"
        assert "snapshot" not in start
        if dialect:
            found = await line.request("__memory__", "memory_search", query="x")
            assert found["result"] == {"results": []}
        await user.say(session, "one")
        await said(line, "one")
        await line.event(session, type="execution_complete", content="to one")
        await user.until_turns(session, "completed")
        await user.say(session, "two")
        told = (await said(line, "two"))["data"]
        assert [one["content"] for one in told["history"]] == ["one", "to one"]
        await user.ok("PATCH", f"/sessions/{session}/config", {"temperature": 1})
        assert (await line.expect("config_update"))["data"] == {"temperature": 1}
        for _ in range(1_000):
            await line.text(session, "x")
        assert await line.closed() == 4029
    assert await dialects(user) == [dialect]


@pytest.mark.proves("notes-1-no-snapshot")
async def test_a_session_with_a_snapshot_of_seven_megabytes_goes_on(user: TestUser) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        session = await user.session()
        await user.say(session, "one")
        await user.until_turns(session, "completed")
        state = {"checkpoint": {"graph": "x" * 7 * MIB}, "short_term_memory": {}}
        await daemon.report(session, "snapshot_sync", **state)
        await daemon.request(session, "get_session")  # answered behind what was reported
    renewed = await user.ok("POST", f"/machines/{await only_machine(user)}/token")
    async with DeployedDaemon(user, renewed["token"], renewed["ticket"]) as again:
        await user.say(session, "two")
        await user.until_turns(session, "completed", "completed")
        assert again.sessions[session].keys().isdisjoint({"snapshot"})


async def only_machine(user: TestUser) -> str:
    (machine,) = (await user.ok("GET", "/machines"))["items"]
    return str(machine["id"])


@pytest.mark.proves("notes-1-memory-is-the-users")
async def test_the_users_memory_is_searched_and_written_without_a_session(
    user: TestUser, eve: TestUser
) -> None:
    await eve.ok("POST", "/memories", {"content": "eve's ship sails at night"})
    async with await scheduled(user) as daemon:
        session = await user.session()
        words = {"content": "the ship sails at noon", "importance": 0.5, "memory_type": "semantic"}
        await daemon.report("__memory__", "memory_write", **words, metadata={"source": "x"})

        async def found() -> list[Any]:
            answer = await daemon.request("__memory__", "memory_search", query="ship", top_k=20)
            return [(one["content"], one["metadata"]) for one in answer["result"]["results"]]

        written = [("the ship sails at noon", {"source": "x"})]
        assert await eventually(found, lambda seen: seen == written) == written
        await user.say(session, "When does the ship sail?")
        await user.until_turns(session, "completed")
        assert [one["content"] for one in daemon.remembered] == ["the ship sails at noon"]
        # What needs no session either, and is no memory.
        refused = await daemon.request("__memory__", "get_skill_package", skill_id="none")
        assert refused["error"]["code"] == "SESSION_NOT_FOUND"


@pytest.mark.proves("notes-1-config-update-has-all-in-data")
async def test_one_of_two_sessions_is_configured(user: TestUser) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        config = {"model": "m", "temperature": 0.1}
        one, two = await user.session(agent_config=config), await user.session(agent_config=config)
        await daemon.expect("start_session", lambda seen: seen["data"]["session_id"] == two)
        await user.ok("PATCH", f"/sessions/{one}/config", {"temperature": 0.9})
        update = await daemon.expect("config_update")
        assert (update["session_id"], update["data"]["temperature"]) == (one, 0.9)
        assert daemon.sessions[one]["agent_config"] == {"model": "m", "temperature": 0.9}
        assert daemon.sessions[two]["agent_config"] == config


@pytest.mark.proves("notes-1-empty-ticket", "notes-1-unlisted-turns-end")
@pytest.mark.parametrize("ticket", ["", "a new one"])
async def test_turns_of_a_daemon_that_was_restarted_end_and_their_readers_are_told(
    user: TestUser, ticket: str
) -> None:
    daemon = await scheduled(user)
    session = await user.session()
    async with user.reader(session) as reader:
        async with daemon:
            daemon.is_silent = True
            await user.say(session, "one")
            await daemon.expect("user_message")
            await daemon.tokens(session, ["I ", "think "])
            await reader.until_text("think ")
            await daemon.drop()
        if ticket:
            renewed = await user.ok("POST", f"/machines/{await only_machine(user)}/token")
            ticket = renewed["ticket"]
        async with DeployedDaemon(user, daemon.token, ticket) as again:
            if not ticket:
                await again.send({"type": "heartbeat"})  # says nothing of sessions
                await again.ping()
                assert await user.turn_states(session) == ["sent"]
                await again.heartbeat()  # a new ticket says by itself that nothing runs there
            assert (await reader.until_type("execution_error"))["code"] == "MACHINE_RESTARTED"
            await user.say(session, "two")
            await user.until_turns(session, "failed", "completed")


@pytest.mark.proves("notes-1-mcp-entries", "notes-1-agent-id", "notes-1-default-model")
@pytest.mark.parametrize("dialect", ["deployed", None])
async def test_a_session_is_started_with_what_the_daemon_looks_for(
    user: TestUser, dialect: str | None
) -> None:
    """Also the first one, before its habits have shown of which kind it is."""
    local = {"name": "files", "type": "local", "command": "mcp-files", "args": ["/a b", "--ro"]}
    files = await user.ok("POST", "/mcp-servers", local)
    hub = {"name": "hub", "type": "remote", "url": "https://hub.example.com/mcp?key=secret"}
    await user.ok("POST", "/mcp-servers", hub)
    agent = await user.ok("POST", "/agents", {"name": "a", "model": "m"})
    async with await scheduled(user, dialect=dialect) as daemon:
        (init,) = daemon.of_type("init")
        assert init["data"]["llm_config"]["default_model"]
        session = await user.session(agent_id=agent["id"])
        start = (await daemon.expect("start_session"))["data"]
        assert start["agent_id"] == agent["id"]
        assert daemon.mcp_command(session, files["id"]) == ["mcp-files", "/a b", "--ro"]
        mine, remote = start["mcp_servers"]
        assert mine.items() >= {**local, "available_tools": [], "auth_config": None}.items()
        assert (remote["transport"], remote["endpoint"]) == ("remote", "")
        assert "secret" not in "".join(daemon.texts)
        other = await user.session(agent_config={})  # whose model is the default one
        await daemon.expect("start_session", lambda seen: seen["data"]["session_id"] == other)
        assert daemon.agents == {session: agent["id"], other: other}
        assert daemon.models == {session: "m", other: init["data"]["llm_config"]["default_model"]}


@pytest.mark.proves("notes-1-mcp-entries")
async def test_a_local_mcp_server_is_started_by_the_daemon_from_its_entry(user: TestUser) -> None:
    program = str(Path(sys.executable).parent / "mcp-server-time")
    local = {"type": "local", "command": program, "args": ["--local-timezone", "Asia/Tokyo"]}
    clock = await user.ok("POST", "/mcp-servers", {"name": "clock", **local})
    async with await scheduled(user, dialect="deployed") as daemon:
        session = await user.session()
        await daemon.expect("start_session")
        async with user.reader(session) as reader:
            noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
            said = await daemon.call_tool(session, clock["id"], "convert_time", **noon)
            assert "T21:00:00+09:00" in said
            done = await reader.until_type("mcp_call_complete")
            assert (done["tool_name"], done["result"]) == ("convert_time", said)


async def test_a_message_that_fits_no_frame_ends_its_turn_and_the_line_lives_on(
    user: TestUser,
) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        session = await user.session()
        async with user.reader(session) as reader:
            await user.say(session, "\u4f60" * 400_000)
            assert (await reader.until_type("execution_error"))["code"] == "MESSAGE_TOO_LARGE"
        await user.say(session, "x" * 600_000)  # fits alone, and not with its history
        await user.until_turns(session, "failed", "completed")
        assert daemon.of_type("user_message")[-1]["data"]["history"] == []
        await user.say(session, "short")
        await user.until_turns(session, "failed", "completed", "completed")


async def test_a_session_that_cannot_be_told_to_start_is_refused(user: TestUser) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        large = {"notes": "x" * (3 * MIB // 2)}
        session = await user.session(agent_config=large)
        async with user.reader(session) as reader:
            await user.say(session, "hello")
            end = await reader.until_type("execution_error")
            assert end["code"] == "SESSION_START_FAILED"
        await daemon.ping()
        assert daemon.close_code is None


async def test_what_is_not_known_is_left_alone_and_counted_once_a_kind(
    control: LocalControl, user: TestUser
) -> None:
    async with await scheduled(user) as daemon:
        session = await user.session()
        for _ in range(2):
            await daemon.send({"type": "telepathy", "session_id": session})
            await daemon.report(session, "dream", what="sheep")
        beat = {"type": "heartbeat", "timestamp": 1, "active_sessions": [session], "mood": "good"}
        await daemon.send(beat)
        await daemon.send({"type": "sse_event", "session_id": session, "data": "{}", "hot": 1})
        refused = await daemon.request(session, "wish")
        assert refused["error"]["code"] == "METHOD_NOT_FOUND"
        counts = control.core.surprises.counts
        kinds = ("message telepathy", "method dream", "method wish")
        assert [counts["semibot", kind] for kind in kinds] == [2, 2, 1]
        assert {kind for wire, kind in counts if "field" in kind} == {"field mood", "field hot"}


@pytest.mark.parametrize("dialect", ["", "Deployed", 7, ["deployed"], {}])
async def test_a_machine_speaks_one_of_the_two_ways(user: TestUser, dialect: Any) -> None:
    machine = (await user.schedule())["vm_id"]
    for method, path in (("POST", f"/users/{user.id}/vm"), ("PATCH", f"/machines/{machine}")):
        status, body = await user.call(method, path, {"dialect": dialect})
        assert (status, body["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.proves("notes-1-set-by-hand")
async def test_a_wrong_recognition_is_taken_back_for_the_next_connection(
    user: TestUser, eve: TestUser
) -> None:
    vm = await user.schedule()
    machine = f"/machines/{vm['vm_id']}"
    async with ScriptedVm(user.ws_url, user.id, vm["token"], vm["ticket"]) as line:
        await line.request("__memory__", "memory_search", query="x")
        await eventually(lambda: dialects(user), lambda seen: seen == ["deployed"])
    assert (await eve.call("PATCH", machine, {"dialect": None}))[0] == 404
    assert (await user.ok("PATCH", machine, {}))["dialect"] == "deployed"
    assert (await user.ok("PATCH", machine, {"dialect": "documented"}))["dialect"] == "documented"
    async with ScriptedVm(user.ws_url, user.id, vm["token"]) as again:
        await again.request("__memory__", "memory_search", query="x")
        session = await user.session()
        assert "agent_id" not in await started(again, session)
    assert await dialects(user) == ["documented"]
    assert (await user.ok("PATCH", machine, {"dialect": None}))["dialect"] is None


async def test_only_an_execution_plane_speaks_in_one_of_these_ways(user: TestUser) -> None:
    device = await user.ok("POST", f"/users/{user.id}/devices")
    path = f"/machines/{device['machine_id']}"
    status, body = await user.call("PATCH", path, {"dialect": "deployed"})
    assert (status, body["error"]["code"]) == (400, "INVALID_REQUEST")


async def test_a_refused_handshake_is_logged_with_its_reason_and_no_secret(user: TestUser) -> None:
    vm = await user.schedule()
    with structlog.testing.capture_logs() as logs:
        for token, ticket in (("forged", None), (vm["token"], "wrong-ticket")):
            line = await DeployedDaemon(user, token, ticket).connect()
            await line.send({"type": "auth", "token": token})
            assert await line.closed() == 4001
            await line.finish()
    told = [one for one in logs if one["event"] == "line refused"]
    assert [one["log_level"] for one in told] == ["warning"] * 2
    assert all(one["reason"] not in ("", "authentication failed") for one in told)
    assert vm["token"] not in str(told)
    assert "wrong-ticket" not in str(told)

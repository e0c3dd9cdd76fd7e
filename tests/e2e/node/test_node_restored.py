"""A daemon whose control plane was restored, by the commands that an operator uses."""

import asyncio
import os
from pathlib import Path

from tests.support import warm_start
from tests.support.eventually import eventually, until
from tests.support.model_server import Gate, Turn
from tests.support.node import Talk, is_alive
from tests.support.node_system import WORDS, running_system
from trunkline.control.backup.restored import RESTORE_GAP
from trunkline.execution.home import Home

BOUND_S = 120


async def _command(tmp_path: Path, *arguments: str) -> str:
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env["TRUNKLINE_DATA"] = str(tmp_path / "data")
    done = await asyncio.to_thread(warm_start.run, arguments, env, tmp_path, "")
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


async def test_a_daemon_that_is_ahead_of_a_restored_control_plane_goes_on_with_it(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(BOUND_S), running_system(tmp_path) as (world, _, control):
        world.model.script(Turn(text="Before."), Turn(text="Gone."), Turn(text="Gone, too."))
        talk, node = await world.session(), world.node
        async with talk:
            await talk.ask("before the backup")
            assert "keys and every secret" in await _command(tmp_path, "backup", "saved.tar")
            saved_id = talk.reader.last_id
            await talk.ask("after the backup")
        async with await world.session() as since:
            await since.ask("in a session of after the backup")
        # A turn that begins after the backup and ends after the restore.
        gate = Gate()
        world.model.when(lambda one: one.prompt == "Count.", Turn(chunks=[*WORDS[:9], gate, "end"]))
        turn = await talk.say("Count.")
        await gate.reached.wait()
        await control.kill()
        await _command(tmp_path, "backup", "--verify", "saved.tar")
        assert "What was there" in await _command(tmp_path, "restore", "--replace", "saved.tar")
        await control.start()
        gate.open()

        async with Talk(talk.user, talk.id) as talk:
            # Its machine has no other session, and sends nothing of one.
            await until(lambda: sum(map(is_alive, node.session_processes())), lambda now: now == 1)
            outbox = Home(tmp_path / "home").outbox / "events"
            await until(
                lambda: [one.name for one in outbox.glob(f"{since.id}*")], lambda now: not now
            )
            world.model.script(Turn(text="Now."))
            assert (await talk.ask("now"))["content"] == "Now."

            async def events() -> list[dict[str, object]]:
                page = await talk.user.ok("GET", f"/sessions/{talk.id}/events?after={saved_id}")
                return [one["event"] for one in page["items"] if one["id"] > RESTORE_GAP]

            def is_over(now: list[dict[str, object]]) -> bool:
                return any(one.get("turn_id") == turn and "content" in one for one in now)

            found = await eventually(events, is_over)
            assert len([one for one in found if one.get("lost_events")]) == 1
            assert [one["content"] for one in found if one["type"] == "user_message"] == ["now"]
            assert "Gone" not in str(found)
        status, _ = await talk.user.call("GET", f"/sessions/{since.id}")
        assert status == 404

"""Found open: the list of what programs send that is not known here had one bound for all wires,
and anybody without a login could fill it with paths that do not exist."""

import asyncio
from pathlib import Path

from tests.support.control import running
from tests.support.myagent import client_of


async def test_nobody_without_a_login_hides_from_the_operator_what_programs_send(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        asked = (control.call("GET", f"/api/x{number}", token=None) for number in range(250))
        assert {status for status, _ in await asyncio.gather(*asked)} == {404}
        async with client_of(user) as client:
            await client.send("user.never_heard_of")
            await client.expect("system.notice")
        assert control.core.surprises.counts["myagent", "message user.never_heard_of"] == 1

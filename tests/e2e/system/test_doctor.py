"""The doctor asks the server of a data folder with the token that its settings name."""

import asyncio
import json
import os
from pathlib import Path

from tests.support import warm_start
from tests.support.control import ADMIN, ControlProcess


async def test_a_server_is_asked_with_the_token_of_the_settings_file(tmp_path: Path) -> None:
    data, config = tmp_path / "data", tmp_path / "trunkline.toml"
    config.write_text(f'data = "{data}"\nadmin_token = "{ADMIN}"\n')
    config.chmod(0o600)
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    async with ControlProcess(data) as server:
        command = ("doctor", "--json", "--config", str(config))
        done = await asyncio.to_thread(warm_start.run, command, env, tmp_path)
        checks = {check["name"]: check for check in json.loads(done.stdout)}
        assert checks["Server"]["state"] == "ok"
        assert server.url in checks["Server"]["detail"]

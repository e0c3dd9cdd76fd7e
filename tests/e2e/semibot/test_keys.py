"""Keys that a user stores while the machine is connected."""

import pytest

from tests.support.control import TestUser
from trunkline.wire.semibot.keys import decrypt_key
from trunkline.wire.semibot.messages import EncryptedKey

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_machine_that_speaks_our_additions_gets_new_keys_at_once(user: TestUser) -> None:
    async with await user.vm("seq") as vm:
        where = f"/users/{user.id}/credentials/openai"
        await user.ok("PUT", where, {"api_key": "sk-new", "base_url": "http://127.0.0.1:9/v1"})
        init = await vm.expect("init", lambda one: bool(one["data"]["api_keys"]))
        key = EncryptedKey(**init["data"]["api_keys"]["openai"])
        assert decrypt_key(key, vm.token) == "sk-new"
        assert init["data"]["llm_config"]["providers"]["openai"]["base_url"].endswith(":9/v1")
        await user.ok("DELETE", where)
        gone = await vm.expect("init", lambda one: not one["data"]["api_keys"])
        assert "llm_config" not in gone["data"]


async def test_a_machine_as_documented_gets_init_once(user: TestUser) -> None:
    async with await user.vm() as vm:
        await user.ok("PUT", f"/users/{user.id}/credentials/openai", {"api_key": "sk-new"})
        await user.session()
        await vm.expect("start_session")
        assert [one["type"] for one in vm.received].count("init") <= 1

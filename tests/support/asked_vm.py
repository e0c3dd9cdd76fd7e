"""A scripted execution plane that is asked what other programs have there, and says so."""

from typing import Any

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm

Json = dict[str, Any]

FOREIGN: Json = {
    "runtime": "claude-code",
    "preset": "",
    "id": "9783150c-9f45-43f4-b970-423f90f68e63",
    "title": "Mend the build",
    "folder": "/srv/site",
    "started_at": 1_700_000_000_000,
    "updated_at": 1_700_000_100_000,
    "message_count": 2,
    "command": "claude --resume 9783150c-9f45-43f4-b970-423f90f68e63",
}
ENTRIES: list[Json] = [
    {"role": "user", "text": "Mend the build", "at": 1_700_000_000_000},
    {"role": "tool", "name": "Bash", "call_id": "c", "input": {"command": "make"}, "result": "ok"},
    {"role": "assistant", "text": "It is mended.", "at": 1_700_000_100_000},
]
READ: Json = {"session": FOREIGN, "entries": ENTRIES}


class AskedVm:
    """Its machine, and how many questions it has answered."""

    def __init__(self, user: TestUser, vm: ScriptedVm, machine_id: str) -> None:
        self.user = user
        self.vm = vm
        self.id = machine_id
        self._answered: list[str] = []

    @classmethod
    async def of(cls, user: TestUser) -> "AskedVm":
        made = await user.schedule()
        vm = ScriptedVm(made["ws_url"], user.id, made["token"], made["ticket"])
        await vm.connect()
        await vm.authenticate("seq", "query")
        return cls(user, vm, made["vm_id"])

    async def asked(self) -> Json:
        """The next question."""
        query = await self.vm.expect("query", lambda one: one["id"] not in self._answered)
        self._answered.append(query["id"])
        return query

    async def answer(self, result: Any = None, error: Json | None = None) -> Json:
        """To the next question, which is returned."""
        query = await self.asked()
        told = {"type": "query_result", "id": query["id"], "result": result, "error": error}
        await self.vm.send(told)
        return query

    @property
    def adopting(self) -> Json:
        named = {"runtime": FOREIGN["runtime"], "id": FOREIGN["id"]}
        return {"machine_id": self.id, "adopt": named}

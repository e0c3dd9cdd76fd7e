"""What stands in the quiet line below the prompt: where a session runs, with which model, in which
folder, and what it has used so far."""

import contextlib
from typing import Any

from rich.cells import cell_len

from trunkline.cli.chat.opening import Opened
from trunkline.cli.human import count, cut, money
from trunkline.client import ApiError, ClientError, Event
from trunkline.log_form import one_line

Json = dict[str, Any]


class Facts:
    """Of one session, as far as they are known by now."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        record = opened.record
        config = {**record.get("agent_config", {}), **record.get("session_config", {})}
        self.machine = ""
        self.agent = ""
        self.model = _text(config.get("model"))
        self.folder = _text(config.get("workspace"))
        self.persons: list[str] = []
        self._tokens_in = self._tokens_out = 0
        self._cost: dict[str, float] = {}
        self._names: dict[str, str] = {}

    def line(self, width: int) -> str:
        """As much of it as so many columns hold: a long folder goes first, then what was used."""
        where, used = (self.machine, self.model), self.used()
        short = f"…/{self.folder.rstrip('/').rpartition('/')[2]}" if "/" in self.folder else ""
        tries = ((*where, self.folder, used), (*where, short, used), (*where, used), where)
        for parts in tries:
            shown = one_line(" · ".join(filter(None, parts)))
            if cell_len(shown) <= width:
                return shown
        return cut(shown, width)

    def used(self) -> str:
        """Tokens and cost; empty before the first turn."""
        tokens = self._tokens_in + self._tokens_out
        if not tokens:
            return ""
        cost = "".join(f" · {money(amount, name)}" for name, amount in self._cost.items())
        return f"{count(tokens)} tokens{cost}"

    def take(self, event: Event) -> None:
        data = event.data
        if event.type == "usage":
            self._add(data.get("tokens_in"), data.get("tokens_out"), data.get("cost"))
        elif event.type == "session_status" and isinstance(ready := data.get("ready"), dict):
            info = ready.get("model_info")
            self.model = _text(info.get("model") if isinstance(info, dict) else "") or self.model
            self.folder = _text(ready.get("work_dir")) or self.folder

    async def learn(self) -> None:
        """Asks the server for the names, and for what a session used before it was taken up."""
        client, record = self._opened.client, self._opened.record
        if not self._opened.is_new:
            await self._learn_used()
        if machine_id := record.get("machine_id"):
            await self._learn_machine(machine_id)
        if agent_id := record.get("agent_id"):
            with contextlib.suppress(ApiError):  # it may have been deleted
                agent = await client.get("agents", agent_id)
                self.agent = _text(agent.get("name"))
                self.model = self.model or _text(agent.get("model"))
        is_ours = record.get("runtime_type") == "semigraph" and not self.persons
        if not self.model and is_ours:
            default = (await client.get("models")).get("default") or {}
            self.model = _text(default.get("name"))

    async def _learn_machine(self, machine_id: str) -> None:
        client = self._opened.client
        machine = await client.get("machines", machine_id)
        self.machine = _text(machine.get("name"))
        if machine.get("kind") == "group":
            group = await client.get("groups", machine_id)
            self.persons = [_text(one.get("name")) for one in group["persons"]]

    async def _learn_used(self) -> None:
        found = await self._opened.client.get(
            "usage", group_by="session", session_id=self._opened.session_id
        )
        self._tokens_in = self._tokens_out = 0
        self._cost = {}
        for one in found["items"]:
            self._add(one["tokens_in"], one["tokens_out"], one["cost"])

    async def name_of(self, user_id: str) -> str:
        """Of whoever answered a question elsewhere."""
        if user_id not in self._names:
            client = self._opened.client
            try:
                me = (await client.me())["user"]
                if me["id"] == user_id:
                    self._names[user_id] = f"{me['name']} (you), elsewhere"
                else:
                    self._names[user_id] = (await client.get("users", user_id))["name"]
            except ClientError:
                return f"user {user_id}"
        return self._names[user_id]

    def _add(self, tokens_in: Any, tokens_out: Any, cost: Any) -> None:
        self._tokens_in += tokens_in if isinstance(tokens_in, int) else 0
        self._tokens_out += tokens_out if isinstance(tokens_out, int) else 0
        if isinstance(cost, dict) and isinstance(cost.get("amount"), int | float):
            currency = _text(cost.get("currency")) or "USD"
            self._cost[currency] = self._cost.get(currency, 0.0) + cost["amount"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

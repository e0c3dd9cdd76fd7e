"""The group chats that Yeaft agents run themselves, as each has listed them last: for pages that
open later, also after a restart. Agents list them only when something changes.
"""

from collections.abc import Collection
from typing import Any

import structlog
from sqlalchemy import select, update

from trunkline.control.core import Core
from trunkline.control.store.among import among
from trunkline.control.store.schema import machines
from trunkline.wire.yeaft.catalog import group_chats_in

_LIST_CHARS_MAX = 256 * 1024  # of one agent's
_AGENTS_MAX = 1_000  # whose lists are in memory

Json = dict[str, Any]

_log = structlog.get_logger(__name__)


class GroupChats:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._lists: dict[str, list[Json]] = {}
        self._unsaved: dict[str, list[Json]] = {}
        """Only the newest of each agent: what it lists meanwhile takes no more room."""
        self._is_saving = False

    def heard(self, agent_id: str, text: str) -> None:
        """A message that an agent has for its user's pages."""
        if len(text) > _LIST_CHARS_MAX or (listed := group_chats_in(text)) is None:
            return
        is_same = self._lists.get(agent_id) == listed
        self._keep(agent_id, listed)
        if is_same and agent_id not in self._unsaved:
            return
        self._unsaved[agent_id] = listed
        if not self._is_saving:
            self._is_saving = True
            self._core.tasks.spawn(self._save(), "yeaft group chats")

    async def of(self, agent_ids: Collection[str]) -> dict[str, list[Json]]:
        known = {**self._lists, **self._unsaved}
        if missing := [one for one in agent_ids if one not in known]:
            columns = machines.c.id, machines.c.group_chats
            query = select(*columns).where(among(machines.c.id, missing))
            for row in await self._core.store.all(query):
                if row.id not in self._lists:  # it may have spoken meanwhile
                    self._keep(row.id, row.group_chats or [])
                known[row.id] = self._lists[row.id]
        return {
            agent_id: [{**one, "agentId": agent_id} for one in known.get(agent_id, ())]
            for agent_id in agent_ids
        }

    def _keep(self, agent_id: str, listed: list[Json]) -> None:
        self._lists.pop(agent_id, None)
        self._lists[agent_id] = listed
        while len(self._lists) > _AGENTS_MAX:
            del self._lists[next(iter(self._lists))]

    async def _save(self) -> None:
        try:
            while self._unsaved:
                agent_id, listed = next(iter(self._unsaved.items()))
                told = update(machines).where(machines.c.id == agent_id)
                await self._core.store.run(told.values(group_chats=listed))
                if self._unsaved[agent_id] is listed:
                    del self._unsaved[agent_id]
        except Exception:  # tried again with the next list that comes
            _log.exception("group chats could not be kept", waiting=len(self._unsaved))
        finally:
            self._is_saving = False

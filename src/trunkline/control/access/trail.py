"""What people do, as entries of the audit log: the one place that decides what an entry shows.

A route names the entry that it leaves (`api/framework.py`); logins are told here by whoever lets
people in. What is shown is chosen by name, cut and redacted: no secret can come along.
"""

import re
from collections.abc import Mapping
from typing import Any

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import TrunklineError
from trunkline.control.redaction import is_secret_name, redact_command
from trunkline.control.services.audit import Audit
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

_SHOWN = frozenset(
    (
        *("id", "user_id", "org_id", "machine_id", "vm_id", "guid", "agent_id", "person_ids"),
        *("name", "label", "role", "scopes", "expires_at", "kind", "shared", "state", "provider"),
        *("type", "url", "base_url", "command", "args", "skill_id", "version", "skill"),
        *("confirm", "tools", "mcp_servers", "sub_agents", "model", "runtime_type", "agent_apps"),
        *("default_runtime_type", "persons", "effect", "rule", "level", "trust_hints"),
        *("session_id", "permission_mode"),
        *("sessions", "stored_bytes", "agents", "memories", "snapshot_bytes", "skill_bytes"),
    )
)
_FROM_RESULT_ONLY = frozenset(("url",))  # what was given may hold a secret; what is shown does not
_ITEMS_MAX = 50
_ARGUMENT = re.compile(r"(?P<name>[\w-]+)\s*[=:]\s*(?=\S)")


class Trail:
    """Writes the entries. An entry that cannot be written is logged: who revokes a token while the
    audit log is broken has revoked it."""

    def __init__(self, audit: Audit, tasks: Tasks, clock: Clock, refused_logins_max: int) -> None:
        """`refused_logins_max`: in a minute; beyond, one entry at its end says how many more."""
        self._audit = audit
        self._tasks = tasks
        self._clock = clock
        self._refused_max = refused_logins_max
        self._minute = 0
        self._refused = 0

    async def done(
        self, who: Principal, event: str, given: Mapping[str, Any], result: object = None
    ) -> None:
        """Somebody has done that. `given`: the names in the address; `body` of what was sent."""
        details = {name: shown(value) for name, value in given.items() if name != "body"}
        details |= _fields(given.get("body"), _SHOWN - _FROM_RESULT_ONLY)
        details |= _fields(result, _SHOWN)
        org_id = getattr(result, "org_id", None) or who.org_id
        await self._write(event, details, org_id=org_id, user_id=who.user_id)

    async def logged_in(self, user_id: str, org_id: str, wire: str, token_id: str) -> None:
        details = {"wire": wire, "id": token_id}
        await self._write("login.done", details, org_id=org_id, user_id=user_id)

    def login_refused(self, wire: str, address: str, reason: str, name: str = "") -> None:
        """Does not wait. `name`: as whom, if they said so."""
        self.sweep()
        self._refused += 1
        if self._refused > self._refused_max:
            return
        details = {"wire": wire, "address": shown(address), "reason": shown(reason)}
        if name:
            details["name"] = shown(name)
        self._tasks.spawn(self._write("login.refused", details), "refused login")

    def sweep(self) -> None:
        """Once a second: a minute may be over."""
        minute = self._clock() // 60_000
        if minute != self._minute:
            self._minute = minute
            self.settle()

    def settle(self) -> None:
        """The refused logins of this minute that have no entry of their own get one together."""
        more, self._refused = self._refused - self._refused_max, 0
        if more > 0:
            details = {"wire": "many", "count": more}
            self._tasks.spawn(self._write("login.refused", details), "refused logins")

    async def own(self, event: str, details: dict[str, Any], about: Principal) -> None:
        """The control plane did that by itself, for that user."""
        await self._write(event, details, org_id=about.org_id, user_id=about.user_id)

    async def _write(
        self,
        event: str,
        details: dict[str, Any],
        *,
        org_id: str | None = None,
        user_id: str | None = None,
    ) -> None:
        try:
            await self._audit.append(event, details, org_id=org_id, user_id=user_id)
        except TrunklineError as error:
            _log.error("not in the audit log", entry=event, code=error.code, user=user_id)


def _fields(of: object, names: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in getattr(of, "__struct_fields__", ()):
        value = getattr(of, name)
        if name in names and isinstance(value, (str, int, float, list)):
            found[name] = shown(value)
    return found


def shown(value: Any) -> Any:
    """A value as an entry may hold it."""
    if isinstance(value, str):
        return redact_command(value)[: limits.AUDIT_VALUE_CHARS_MAX]
    if isinstance(value, list):
        return _list(value[:_ITEMS_MAX])
    return value if isinstance(value, (int, float)) else None


def _list(values: list[Any]) -> list[Any]:
    """The arguments of a command among them: what follows `--api-key` or `--api-key=` is a key."""
    found: list[Any] = []
    before = ""
    for value in values:
        text = value if isinstance(value, str) else ""
        named = _ARGUMENT.match(text)
        if before.startswith("-") and _is_secret(before):
            found.append("***")
        elif named is not None and _is_secret(named["name"]):
            found.append(shown(named[0]) + "***")
        else:
            found.append(shown(text) if text else None)
        before = text
    return found


def _is_secret(argument: str) -> bool:
    name = argument.strip("-").replace("-", "_").lower()
    return is_secret_name(name) or f"_{name}".endswith("_key")

"""The server itself, as it runs: for administrators, and for `trunkline doctor`."""

import os

import msgspec

from trunkline import __version__
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.operator import problem_of
from trunkline.control.core import Core
from trunkline.control.errors import Forbidden
from trunkline.control.records.credentials import from_environment
from trunkline.control.records.fields import Json
from trunkline.control.redaction import is_secret_name, redact
from trunkline.control.services.memory_index import MemoryIndexState
from trunkline.control.store.engine import shown

server = Routes("server")


class ServerState(msgspec.Struct, kw_only=True):
    """`settings`: as this server has them, secrets left out. `providers`: those whose keys are in
    its environment. `problem`: why it cannot serve requests now. `is_audit_broken`: the audit log
    takes no more entries (`AUDIT_BROKEN`). `memory_search`: by which model memories are found."""

    version: str
    pid: int
    url: str
    data: str
    database: str
    settings: Json
    providers: list[str]
    problem: str | None
    is_audit_broken: bool
    memory_search: MemoryIndexState


@server.get("/server")
async def get_server(core: Core, who: Principal) -> ServerState:
    """Show how this server runs.

    Only admins may.
    """
    if not who.is_admin:
        raise Forbidden("only an administrator may see how the server runs")
    settings = core.settings
    return ServerState(
        version=__version__,
        pid=os.getpid(),
        url=core.presence.url,
        data=str(settings.data_dir.absolute()),
        database="SQLite in the data folder"
        if settings.database_url is None
        else shown(settings.database_url),
        settings=_shown_settings(msgspec.structs.asdict(settings)),
        providers=[one.provider for one in from_environment(os.environ)],
        problem=await problem_of(core),
        is_audit_broken=core.services.audit.is_broken,
        memory_search=await core.services.memories.index.state(),
    )


def _shown_settings(values: Json) -> Json:
    kept = {name: one for name, one in values.items() if not is_secret_name(name)}
    kept.pop("database_url", None)  # its address is shown apart, without the password
    return {name: redact(one) if isinstance(one, str) else one for name, one in kept.items()}

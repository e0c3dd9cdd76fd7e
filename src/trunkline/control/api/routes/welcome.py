"""The first run: what is there, so that a page can say what to do next."""

from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from sqlalchemy import func, select

from trunkline import __version__
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes, base_url
from trunkline.control.api.routes.machines import Machine, live
from trunkline.control.api.routes.models import (
    KnownProvider,
    ModelInUse,
    model_in_use,
    providers_of,
)
from trunkline.control.core import Core
from trunkline.control.door.origin import is_local_name
from trunkline.control.store import schema

welcome = Routes("server")


class Welcome(msgspec.Struct, kw_only=True):
    """What a newcomer wants to know. `url`: this server, as whoever asks sees it; `is_local`: by
    that address only this computer reaches it. `machines`: the person's own. `sessions`: how many
    they have, closed ones too."""

    version: str
    url: str
    is_local: bool
    machines: list[Machine]
    model: ModelInUse | None
    providers: list[KnownProvider]
    sessions: int


@welcome.get("/welcome")
async def get_welcome(core: Core, who: Principal, request: web.Request) -> Welcome:
    """Show what is there for you: machines, model, keys, sessions."""
    url = base_url(core, request)
    count = select(func.count()).where(schema.sessions.c.user_id == who.user_id)
    return Welcome(
        version=__version__,
        url=url,
        is_local=is_local_name(urlsplit(url).netloc),
        machines=await live(core, await core.records.machines.own(who.user_id)),
        model=await model_in_use(core, who),
        providers=await providers_of(core, who.user_id),
        sessions=await core.store.scalar(count) or 0,
    )

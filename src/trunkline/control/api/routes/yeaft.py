"""The HTTP half of the Yeaft page (docs/protocols/yeaft.md#login-over-http): login, who am I, the
secret for agents, uploads. Names and shapes are that page's, errors too.
"""

import contextlib
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import __version__, limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.cookies import cookie_of, set_yeaft_cookie
from trunkline.control.access.passwords import CHARS_MAX
from trunkline.control.api.framework import Routes
from trunkline.control.api.responses import json_response
from trunkline.control.core import Core
from trunkline.control.door.callers import counted_as
from trunkline.control.door.head import credentials_of
from trunkline.control.errors import Unauthorized
from trunkline.control.services.uploads import Upload
from trunkline.wire.yeaft.web import role_of

routes = Routes("yeaft", prefix="/api", of_yeaft=True)

_Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX)]
_Password = Annotated[str, Meta(min_length=1, max_length=CHARS_MAX)]


class Mode(msgspec.Struct, kw_only=True, rename="camel"):
    """How this server lets people in: by name, with a password or a token."""

    skip_auth: bool = False
    email_verification: bool = False
    totp_enabled: bool = False
    registration_enabled: bool = False
    aad_enabled: bool = False
    sso_providers: dict[str, str] = {}


class Login(msgspec.Struct, kw_only=True):
    """`password`: the user's password, or a bearer token of theirs."""

    username: _Name
    password: _Password

    def __repr__(self) -> str:
        return f"Login(username={self.username!r}, password=…)"


class LoggedIn(msgspec.Struct, kw_only=True, rename="camel"):
    """`token` is for the WebSocket's address and for `Authorization`."""

    success: bool = True
    token: str
    session_key: None = None
    role: str
    user_id: str


class Done(msgspec.Struct, kw_only=True):
    success: bool = True


class Profile(msgspec.Struct, kw_only=True, rename="camel"):
    """Who is logged in."""

    username: str
    role: str
    user_id: str
    display_name: str
    created_at: int
    has_password: bool


class Version(msgspec.Struct, kw_only=True):
    version: str


class AgentSecret(msgspec.Struct, kw_only=True, rename="camel"):
    """What agents of this user are started with."""

    agent_secret: str


class YeaftFile(msgspec.Struct, kw_only=True, rename="camel"):
    file_id: str
    name: str
    mime_type: str
    size: int


class Uploaded(msgspec.Struct, kw_only=True, rename="camel"):
    """`file_ids` in the order in which the files came."""

    success: bool = True
    files: list[YeaftFile]
    file_ids: list[str]


@routes.get("/auth/mode", is_open=True)
async def get_auth_mode() -> Mode:
    """Say how people log in here."""
    return Mode()


@routes.get("/version", is_open=True)
async def get_version() -> Version:
    """Say which version this is."""
    return Version(version=__version__)


@routes.post("/auth/login", is_open=True)
async def log_in_by_name(core: Core, request: web.Request, body: Login) -> web.Response:
    """Log in by name, with a password or a bearer token.

    After a few wrong ones, an address has to wait longer and longer. So has everybody for a few
    seconds, but where they have logged in before, under a name at which many addresses guess.
    """
    caller = core.connections.callers.of(request.remote or "", request.headers)
    address = counted_as(caller)
    core.attempts.begin(address, body.username)
    try:
        token, cookie, who = await _admit(core, body)
    except Unauthorized as error:
        core.trail.login_refused("yeaft", str(caller), error.message, body.username)
        raise
    core.attempts.succeeded(address, body.username)
    await core.trail.logged_in(who.user_id, who.org_id, "yeaft", who.token_id)
    known = LoggedIn(token=token, role=role_of(who.role), user_id=who.user_id)
    response = json_response(known)
    life_s = int(limits.COOKIE_LIFE_S)
    if who.expires_at is not None:
        life_s = min(life_s, max(0, who.expires_at - core.clock()) // 1000)
    response.headers.add("Set-Cookie", set_yeaft_cookie(core.settings, cookie, life_s))
    return response


async def _admit(core: Core, given: Login) -> tuple[str, str, Principal]:
    """Token, cookie, and whose they are. A token of that user as it was given, and for the cookie a
    login that ends with it; else one new login for the right password."""
    with contextlib.suppress(Unauthorized):  # it is no token, so it may be a password
        who = await core.auth.identify(given.password)
        user = await core.records.users.get(who, who.user_id)
        if given.username in (user.name, user.id):
            life_s = limits.COOKIE_LIFE_S
            cookie, _ = await core.auth.issue(
                who.user_id, "cookie", life_s=life_s, under=who, ends_with=who.token_id
            )
            # It may have been revoked in the meantime: then nobody gets to know the cookie.
            return given.password, cookie, await core.auth.identify(given.password)
    user_id = await core.passwords.check(given.username, given.password)
    if user_id is None:
        raise Unauthorized("wrong username or password")
    token, _ = await core.auth.issue(user_id, "cookie", life_s=limits.COOKIE_LIFE_S)
    return token, token, await core.auth.identify(token)


@routes.post("/auth/logout", is_open=True)
async def log_out_by_name(core: Core, request: web.Request) -> web.Response:
    """End this login. A bearer token that was used as one stays good."""
    headers, settings = request.headers, core.settings
    shown = {
        credentials_of(headers, settings, of_yeaft=True),
        cookie_of(headers, settings, of_yeaft=True),
    }
    for secret in filter(None, shown):
        with contextlib.suppress(Unauthorized):  # it has ended already
            await core.records.tokens.log_out(await core.auth.identify(secret))
    response = json_response(Done())
    response.headers.add("Set-Cookie", set_yeaft_cookie(core.settings, "", 0))
    return response


@routes.get("/user/profile")
async def get_profile(core: Core, who: Principal) -> Profile:
    """Show who is logged in."""
    user = await core.records.users.get(who, who.user_id)
    return Profile(
        username=user.name,
        role=role_of(user.role),
        user_id=user.id,
        display_name=user.name,
        created_at=user.created_at,
        has_password=await core.passwords.is_set(user.id),
    )


@routes.get("/user/agent-secret", scope="admin")
async def get_agent_secret(core: Core, who: Principal) -> AgentSecret:
    """Show the secret with which you start agents. It is made when it is first asked for.

    A token with scopes or an end is not shown it: the secret has neither.
    """
    who.require_unlimited()
    if await core.user_secrets.make(who.user_id):
        await core.trail.done(who, "user.agent_secret_made", {})
    return AgentSecret(agent_secret=await core.user_secrets.show(who.user_id))


@routes.post("/user/agent-secret/reset", audit="user.agent_secret_reset")
async def reset_agent_secret(core: Core, who: Principal) -> AgentSecret:
    """Replace the secret with which you start agents.

    Agents that are connected stay so; the next time they need the new one.
    """
    who.require_unlimited()
    return AgentSecret(agent_secret=await core.user_secrets.renew(who.user_id))


@routes.post("/upload", scope="talk")
async def upload_files(core: Core, who: Principal, files: list[Upload]) -> Uploaded:
    """Upload files ahead of the message that names them by `fileIds`.

    They are kept for ten minutes.
    """
    ids = core.uploads.add(who.user_id, files)
    shown = [
        YeaftFile(file_id=file_id, name=one.name, mime_type=one.mime, size=len(one.content))
        for file_id, one in zip(ids, files, strict=True)
    ]
    return Uploaded(files=shown, file_ids=ids)

"""Commands that talk to a server: what they share, so that each is only its own request.

`@remote(app, "list", example="…")` gives a command the flags --url, --token, --data and --json,
a connected client as its first argument, and prints what it returns. Of the places that say which
server and which token, a flag wins over the environment, the environment over the data folder,
where a running server leaves its address (`server.json`) and the admin token (`admin-token`). A
server that was found in the folder proves that it is the folder's before it is shown a token: after
a crash something else may listen on its port.
"""

import asyncio
import hmac
import inspect
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer

from trunkline import names
from trunkline.cli.output import CommandFailed, Json, Shown, show
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Client
    from trunkline.control.presence import ServerFile

Url = Annotated[str | None, typer.Option("--url", help="The server. [TRUNKLINE_URL]")]
Token = Annotated[str | None, typer.Option("--token", help="A bearer token. [TRUNKLINE_TOKEN]")]
Data = Annotated[
    str | None, typer.Option("--data", help="The server's data folder. [TRUNKLINE_DATA]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Limit = Annotated[int, typer.Option("--limit", min=0, help="How many at most; 0 for all.")]

T = TypeVar("T")
Command = Callable[..., Awaitable[Shown]]


def group(name: str, text: str) -> typer.Typer:
    """A group of commands, such as `trunkline agent`."""
    return typer.Typer(name=name, help=text, no_args_is_help=True, rich_markup_mode=None)


def remote(app: typer.Typer, name: str, *, example: str) -> Callable[[Command], Command]:
    """Registers a coroutine function that takes a client first and returns what to show."""

    def register(command: Command) -> Command:
        def run(url: Url, token: Token, data: Data, as_json: AsJson, **own: Any) -> None:
            shown = call(url, token, data, lambda client: command(client, **own))
            show(shown, as_json=as_json)

        shared = inspect.signature(run).parameters
        own = list(inspect.signature(command).parameters.values())[1:]
        keyword = inspect.Parameter.KEYWORD_ONLY
        defaults = {"url": None, "token": None, "data": None, "as_json": False}
        parameters = [parameter.replace(kind=keyword) for parameter in own] + [
            shared[name].replace(kind=keyword, default=value) for name, value in defaults.items()
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__doc__ = command.__doc__
        app.command(name, epilog=f"\b\nExample:\n  {example}")(run)
        return command

    return register


def call(
    url: str | None,
    token: str | None,
    data: str | None,
    work: "Callable[[Client], Awaitable[T]]",
) -> T:
    """Runs a coroutine with a client of that server; failures become one line."""
    from trunkline.client import Client

    where = find_server(url, token, data, os.environ)

    async def run() -> T:
        async with Client(where.url, where.token) as client:
            await check_server(client, where)
            return await work(client)

    with failures():
        return asyncio.run(run())


class ServerAccess(msgspec.Struct, frozen=True):
    """A server's address and the token to use there. `key`: what it has to prove that it knows
    before it is shown the token; None where a person has named the server."""

    url: str
    token: str | None
    key: str | None = None

    def __repr__(self) -> str:
        return f"ServerAccess(url={self.url!r})"


class NoServer(CommandFailed):
    """Nobody named one, and none has left its address in the data folder."""


def find_server(
    url: str | None, token: str | None, data: str | None, env: Mapping[str, str]
) -> ServerAccess:
    """The server that the flags, the environment and the data folder name."""
    if problem := names.unknown_variable(env):
        raise CommandFailed(problem)
    folder = data_folder(data, env)
    running = _running(folder)
    running_url = "" if running is None else running.url.rstrip("/")
    named = url or env.get("TRUNKLINE_URL")
    chosen = (named or running_url).rstrip("/")
    if not chosen:
        # No address is guessed: whoever listens there would be shown a token.
        raise NoServer("no server runs with this data folder (trunkline up), or give --url")
    if not chosen.startswith(("http://", "https://")):
        raise CommandFailed(f"{chosen!r} is no http address")
    secret = token or env.get("TRUNKLINE_TOKEN") or env.get("TRUNKLINE_ADMIN_TOKEN")
    if running is None or chosen != running_url or (named and secret):
        # The folder's token is for the folder's server alone: no other address gets to see it.
        return ServerAccess(chosen, secret)
    if not running.key:
        raise CommandFailed(
            f"{folder / 'server.json'} is of an older version: start the server again"
        )
    return ServerAccess(chosen, secret or _read(folder / "admin-token"), running.key)


async def check_server(client: "Client", where: ServerAccess) -> None:
    """Before the first request with a token: that this is the server of the data folder."""
    if where.key is None:
        return
    from trunkline.control.presence import proof_of

    nonce = secrets.token_urlsafe(24)
    expected = proof_of(where.key, nonce, where.url)
    if not hmac.compare_digest(expected.encode(), (await client.http.prove(nonce)).encode()):
        raise CommandFailed(
            f"what listens at {where.url} is not the server of this data folder, and is shown no"
            " token: is the server running? (trunkline up)"
        )


def data_folder(data: str | None, env: Mapping[str, str]) -> Path:
    """Where the server of this user keeps its files, by the rule of the settings."""
    from trunkline.control.settings import Settings

    return Settings(data=data or env.get("TRUNKLINE_DATA", "")).data_dir


def _running(folder: Path) -> "ServerFile | None":
    from trunkline.control.presence import FILE, read_server_file

    try:
        return read_server_file(folder)
    except msgspec.MsgspecError as error:
        raise CommandFailed(f"{folder / FILE} is damaged: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"cannot read {folder / FILE}: {error}") from error


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"cannot read {path}: {error}") from error


@contextmanager
def failures() -> Iterator[None]:
    """What a client can run into, as one line that says what to do."""
    from trunkline.client import ApiError, ClientError, Unreachable

    try:
        yield
    except ApiError as error:
        hint = ""
        if error.status == 401:
            hint = "; give --token, or set TRUNKLINE_TOKEN or TRUNKLINE_DATA"
        raise CommandFailed(f"{one_line(error.message)} ({one_line(error.code)}){hint}") from error
    except Unreachable as error:
        raise CommandFailed(f"{one_line(str(error))}; is it running? (trunkline up)") from error
    except ClientError as error:
        raise CommandFailed(one_line(str(error))) from error


async def collect(items: AsyncIterator[Json], limit: int) -> list[Json]:
    """The first of them; 0 means all."""
    found: list[Json] = []
    async for item in items:
        found.append(item)
        if len(found) == limit:
            break
    return found


def given(**values: Any) -> Json:
    """The body of a request: what was said on the command line, nothing else."""
    return {name: value for name, value in values.items() if value is not None}

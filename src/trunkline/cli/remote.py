"""Commands that talk to a server: what they share, so that each is only its own request.

`@remote(app, "list", example="…")` gives a command the flags --url, --token, --data and --json,
a connected client as its first argument, ids for the names that its parameters take
(`cli/names.py`), and prints what it returns. Which server and which token that is,
`trunkline.client.locate` says; a flag wins over all else.
"""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import typer

from trunkline import names
from trunkline.cli import progress
from trunkline.cli.names import kind_of, resolve_all
from trunkline.cli.output import CommandFailed, Json, Rows, Shown, show
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Client
    from trunkline.client.locate import ServerAccess

Url = Annotated[str | None, typer.Option("--url", help="The server. [TRUNKLINE_URL]")]
Token = Annotated[str | None, typer.Option("--token", help="A bearer token. [TRUNKLINE_TOKEN]")]
Data = Annotated[
    str | None, typer.Option("--data", help="The server's data folder. [TRUNKLINE_DATA]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Wide = Annotated[bool, typer.Option("--wide", help="Whole ids and texts, and every column.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="Only the rows.")]
Limit = Annotated[int, typer.Option("--limit", min=0, help="How many at most; 0 for all.")]

T = TypeVar("T")
Command = Callable[..., Awaitable[Shown]]


def group(name: str, text: str) -> typer.Typer:
    """A group of commands, such as `trunkline agent`."""
    return typer.Typer(name=name, help=text, no_args_is_help=True, rich_markup_mode=None)


def remote(app: typer.Typer, name: str, *, example: str) -> Callable[[Command], Command]:
    """Registers a coroutine function that takes a client first and returns what to show."""

    def register(command: Command) -> Command:
        own = list(inspect.signature(command).parameters.values())[1:]
        kinds = {one.name: kind for one in own if (kind := kind_of(one.annotation))}

        def run(
            url: Url,
            token: Token,
            data: Data,
            as_json: AsJson,
            is_wide: Wide = False,
            no_header: NoHeader = False,
            **own: Any,
        ) -> None:
            async def work(client: "Client") -> Shown:
                return await command(client, **await resolve_all(client, kinds, own))

            with progress.silent(as_json):
                shown = call(url, token, data, work)
            show(shown, as_json=as_json, is_wide=is_wide, has_header=not no_header)

        shared = inspect.signature(run).parameters
        keyword = inspect.Parameter.KEYWORD_ONLY
        defaults = {"url": None, "token": None, "data": None, "as_json": False}
        if Rows in (returned := inspect.signature(command).return_annotation, *get_args(returned)):
            defaults |= {"is_wide": False, "no_header": False}
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
        async with Client(where) as client:
            return await work(client)

    with failures():
        return asyncio.run(run())


class NoServer(CommandFailed):
    """Nobody named one, and none has left its address in the data folder."""


def find_server(
    url: str | None, token: str | None, data: str | None, env: Mapping[str, str]
) -> "ServerAccess":
    """The server that the flags, the environment and the data folder name."""
    from trunkline.client import ClientError, locate
    from trunkline.client.errors import NoServer as NotFound

    if problem := names.unknown_variable(env):
        raise CommandFailed(problem)
    try:
        return locate.find_server(url, token, data, env)
    except NotFound as error:
        raise NoServer(
            "no server runs with this data folder (trunkline up), or give --url"
        ) from error
    except ClientError as error:
        raise CommandFailed(str(error)) from error


@contextmanager
def failures() -> Iterator[None]:
    """What a client can run into, as one line that says what to do."""
    from trunkline.cli import hints
    from trunkline.client import ApiError, ClientError, Unreachable

    try:
        yield
    except ApiError as error:
        said = f"{one_line(error.message)} ({one_line(error.code)})"
        raise CommandFailed(said + hints.of_refusal(error)) from error
    except Unreachable as error:
        raise CommandFailed(one_line(str(error)) + hints.of_silence(error)) from error
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

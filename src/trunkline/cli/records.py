"""The five commands that records of every kind have: `list`, `create`, `show`, `update`, `delete`.

A kind's module says what its records are made of, once, as a function from options to the body
of a request; whatever else can be done with them is that module's own.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from trunkline.cli.names import called, record_name
from trunkline.cli.output import Done, Json, Record, Rows, say
from trunkline.cli.remote import Command, Limit, collect, given, remote
from trunkline.cli.sure import Sure, make_sure

if TYPE_CHECKING:
    from trunkline.client import Client

NewName = Annotated[str | None, typer.Option(help="A new name.")]
Body = Callable[..., Awaitable[Json]]
"""Takes a client and the options of `create` and `update`."""


Doubt = Callable[["Client", Json], Awaitable[str]]
"""What is to be said to whoever stored that; empty: nothing."""


async def _no_doubt(_client: "Client", _body: Json) -> str:
    return ""


def _as_it_is(record: Json) -> Json:
    return record


class Records(NamedTuple):
    """The records that `trunkline agent …` keeps at `/agents`."""

    app: typer.Typer
    noun: str
    name_example: str
    """What one of them may be called, in examples."""
    columns: tuple[str, ...]
    view: Callable[[Json], Json] = _as_it_is
    """How one of them is shown."""
    title: str = ""
    """What help calls one of them, where that is not the noun."""
    list_example: str = ""
    path: str = ""
    """Where the API has them, where that is not the noun with an `s`."""
    many: str = ""
    """What several of them are called, where that is not the title with an `s`."""
    first: str = "create NAME"
    """The command that makes the first one."""

    def can_list(self, text: str = "") -> None:
        async def command(client: "Client", limit: Limit = 50) -> Rows:
            found = await collect(client.each(self._path), limit)
            many = self.many or f"{self._title}s"
            empty = f"no {many} yet: trunkline {self.noun} {self.first}"
            return Rows([self.view(one) for one in found], self.columns, raw=found, empty=empty)

        text = text or f"List {self._title}s."
        self._add("list", command, text, self.list_example)

    def can_create(
        self, body: Body, example: str, text: str = "Make {}.", doubt: Doubt = _no_doubt
    ) -> None:
        async def command(client: "Client", name: str, **options: Any) -> Record:
            made = {"name": name, **await body(client, **options)}
            record = self._record(await client.post(self._path, body=made))
            if told := await doubt(client, made):
                say(told, err=True)
            return record

        self._add("create", _with_options(command, body), text, example)

    def can_show(self) -> None:
        async def command(client: "Client", record_id: str) -> Record:
            return self._record(await client.get(self._path, record_id))

        self._add("show", command, "Show {}.", self.name_example)

    def can_update(
        self,
        body: Body,
        example: str,
        text: str = "Change {}; what is not named stays.",
        doubt: Doubt = _no_doubt,
    ) -> None:
        async def command(
            client: "Client", record_id: str, name: NewName = None, **options: Any
        ) -> Record:
            changed = given(name=name) | await body(client, **options)
            record = self._record(await client.patch(self._path, record_id, body=changed))
            if told := await doubt(client, changed):
                say(told, err=True)
            return record

        self._add("update", _with_options(command, body), text, f"{self.name_example} {example}")

    def can_delete(self, text: str, asks: str = "Delete {}?") -> None:
        """`asks`: the question before it, which names the record and what goes with it."""

        async def command(client: "Client", record_id: str, is_sure: Sure = False) -> Done:
            named = await called(client, self._path, record_id)
            if not is_sure:
                make_sure(asks.format(named))
            await client.delete(self._path, record_id)
            return Done(f"deleted {named}")

        self._add("delete", command, text, self.name_example)

    @property
    def _path(self) -> str:
        return self.path or f"{self.noun}s"

    @property
    def _title(self) -> str:
        return self.title or self.noun

    def _record(self, record: Json) -> Record:
        return Record(record, view=self.view(record))

    def _add(self, name: str, command: Command, text: str, example: str = "") -> None:
        """`{}` in the text is one such record."""
        signature = inspect.signature(command)
        named = record_name(self._path, self.noun)
        parameters = [
            one.replace(annotation=named) if one.name == "record_id" else one
            for one in signature.parameters.values()
        ]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        article = "an" if self._title[0] in "aeio" else "a"  # a user
        command.__doc__ = text.format(f"{article} {self._title}")
        words = f"trunkline {self.noun} {name} {example}"
        remote(self.app, name, example=words.rstrip())(command)


def _with_options(command: Command, body: Body) -> Command:
    """The command with the options that its body is made of."""
    own = list(inspect.signature(command).parameters.values())[:-1]
    options = list(inspect.signature(body).parameters.values())[1:]
    command.__signature__ = inspect.Signature(own + options)  # type: ignore[attr-defined]
    return command

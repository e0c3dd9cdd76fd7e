"""The commands of `trunkline`, each with the module that has it and its line in the help.

A module is loaded when its command is called, so that the help is there at once. The lines are
those of the modules themselves, which a test compares.
"""

import importlib
import io
import shutil
from collections.abc import Iterator, MutableMapping
from typing import IO, Any, NamedTuple

import typer
import typer.main
from typer._click.core import Context
from typer._click.exceptions import ClickException, NoSuchOption, UsageError
from typer._click.formatting import HelpFormatter
from typer.core import TyperGroup

from trunkline.cli.output import say
from trunkline.cli.runtimes_here import fill
from trunkline.cli.values import every, lighten
from trunkline.cli.zsh_completion import mending


class Place(NamedTuple):
    """Where a command is. `group`: the name of a whole group of commands in that module; without
    one, the module's `add_to` adds the command."""

    module: str
    group: str
    line: str


COMMANDS = {
    "up": Place(
        "serve",
        "",
        "Start everything on this machine, print a login link and open it in the browser.",
    ),
    "control": Place("serve", "", "Start the control plane as a service."),
    "node": Place(
        "node", "", "Run the execution plane's daemon on this machine, until SIGTERM or Ctrl-C."
    ),
    "chat": Place(
        "chat.command",
        "",
        "Talk to a session: streams the answer, shows tools, asks for approvals.",
    ),
    "usage": Place(
        "audit", "", "Sum up what models were used, and what that cost as far as prices are known."
    ),
    "doctor": Place(
        "doctor", "", "Check this machine, and the server that runs on it, if one does."
    ),
    "backup": Place("backup", "", "Save the whole system into one file, while it runs or not."),
    "restore": Place("backup", "", "Make a system of a backup, in an empty data folder."),
    "agent": Place("agents", "agents", "Agents."),
    "audit": Place("audit", "app", "The audit log."),
    "machine": Place("machines", "app", "Machines that run agents."),
    "mcp": Place("resources", "mcp", "MCP servers."),
    "memory": Place("resources", "memories", "Long-term memories."),
    "org": Place("people", "orgs", "Organisations."),
    "rule": Place("rules", "app", "What agents may do: allow, ask or deny."),
    "session": Place("sessions", "app", "Sessions."),
    "skill": Place("resources", "skills", "Skills of the organisation."),
    "token": Place("people", "tokens", "Bearer tokens."),
    "user": Place("people", "users", "People."),
    "person": Place("agents", "persons", "Persons, who answer in groups."),
    "group": Place("agents", "groups", "Groups of persons."),
}


_NARROW = 52
"""Columns below which help is made to fit only if it is told to."""


class _Formatter(HelpFormatter):
    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        if self.width < _NARROW:
            col_max = self.width // 4
        super().write_dl(rows, col_max, col_spacing)


class _Context(Context):
    formatter_class = _Formatter


class _Told(ClickException):
    """A command that was not understood: told as it would be, broken between words."""

    def __init__(self, error: UsageError) -> None:
        error.message += _next_step(error)
        super().__init__(error.message)
        self._error = error
        self.exit_code = error.exit_code

    def show(self, file: IO[Any] | None = None) -> None:
        told = io.StringIO()
        self._error.show(told)
        say(told.getvalue().rstrip("\n"), err=True)


def _next_step(error: UsageError) -> str:
    """What a person can say in place of what was not understood, where no near word is offered."""
    command = error.ctx.command if error.ctx is not None else None
    if error.message.startswith("No such command") and not error.message.endswith("?"):
        known = sorted(getattr(command, "commands", ()))
        return f" There are: {', '.join(known)}." if known else ""
    if isinstance(error, NoSuchOption) and command is not None and command.name == "configure":
        return f". Parameters are said as NAME=VALUE: {error.option_name.lstrip('-')}=…"
    return ""


class _Loading(MutableMapping[str, Any]):
    """Commands by name, each made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _load(name, COMMANDS[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS


def _load(name: str, place: Place) -> Any:
    module = importlib.import_module(f"trunkline.cli.{place.module}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback()(lambda: None)  # with one, it is a group also of a single command
    if place.group:
        app.add_typer(getattr(module, place.group))
    else:
        module.add_to(app)
    made: Any = typer.main.get_command(app)
    found = made.commands[name]
    for one in every(found):
        one.context_class = _Context
        params = one.get_params(typer.Context(one))  # with that of --help
        lighten(params)
        fill(params)
    return found


class LazyGroup(TyperGroup):
    """The root: knows the names and the lines of its commands without their modules."""

    context_class = _Context

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Loading()

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        columns = shutil.get_terminal_size().columns
        if columns < _NARROW:
            extra["terminal_width"] = columns
        try:
            return super().make_context(*arguments, **extra)
        except UsageError as error:
            raise _Told(error) from error

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise _Told(error) from error

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        params = self.get_params(ctx)
        lighten(params)
        for one in params:
            if one.name == "install_completion" and one.callback is not None:
                one.callback = mending(one.callback)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.line) for name, place in COMMANDS.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        from typer._click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=place.line)
            for name, place in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        options = super(TyperGroup, self).shell_complete(ctx, incomplete)
        return [*found, *options]

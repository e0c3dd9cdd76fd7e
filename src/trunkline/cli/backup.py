"""`trunkline backup` and `trunkline restore`: the whole control plane as one file, and back."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import progress
from trunkline.cli.human import size
from trunkline.cli.output import CommandFailed, Done, Json, Record, say, show
from trunkline.cli.progress import Progress
from trunkline.cli.remote import AsJson, Data
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.control.backup.archive import Manifest
    from trunkline.control.settings import Settings

Config = Annotated[
    Path | None,
    typer.Option(help="The server's settings file. [~/.config/trunkline/trunkline.toml]"),
]

_SECRETS = (
    "It holds the keys and every secret of the system: keep it as private as the data folder."
)
_WHOLE = "It is whole: checksums, databases, keys and positions are as they should be."
_NO_DATABASE = (
    "The database is PostgreSQL and is not in it: copy that with its own tools (pg_dump, or a base"
    " backup), after this."
)


def add_to(app: typer.Typer) -> None:
    example = "trunkline backup /backup/today.tar\n  trunkline backup --verify /backup/today.tar"
    app.command("backup", epilog=f"\b\nExample:\n  {example}")(backup)
    example = "trunkline restore --data /var/lib/trunkline /backup/today.tar"
    app.command("restore", epilog=f"\b\nExample:\n  {example}")(restore)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, or to check.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check a backup instead of making one.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of a file of that name.")
    ] = False,
    data: Data = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Save the whole system into one file, while it runs or not.

    Records, sessions, keys and skills as they were at one moment; the homes of machines, which hold
    the agents' files, are not in it. Run it as the server's user, with its settings. With --verify,
    a backup is unpacked beside itself and checked, as a restore does first.
    """
    from trunkline.control.backup import making, restoring

    what = f"checking {file}" if verify else f"saving into {file}"
    with _failures(), progress.silent(as_json), Progress(what) as told:
        if verify:
            manifest = restoring.verify(file, progress=told)
            _show(manifest, file, [_WHOLE], as_json=as_json)
            return
        settings = _settings(data, config)
        _check_server(settings)
        told.tell(f"saving {settings.data_dir}")
        manifest = making.make(settings, file, now_ms=_now_ms(), progress=told, replace=replace)
    hints = [_SECRETS, *([_NO_DATABASE] if manifest.database != "sqlite" else [])]
    _show(manifest, file, hints, as_json=as_json)


def restore(
    file: Annotated[Path | None, typer.Argument(help="The backup.", show_default=False)] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Also where a system is: its files are kept, in replaced-…"),
    ] = False,
    skip_ids: Annotated[
        bool,
        typer.Option(
            "--skip-ids",
            help="Restore no file: the database was put back by its own tools (PostgreSQL).",
        ),
    ] = False,
    data: Data = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a system of a backup, in an empty data folder.

    The server must be stopped. The backup is checked first, and put in place wholly or not at all.
    The next start upgrades it if need be, ends the turns that were open in it, and lets ids go on
    far ahead, so that nobody takes new events for those that are gone.
    """
    from trunkline.control.backup import restoring

    if (file is None) is not skip_ids:
        say("error: name the backup, or give --skip-ids without one", err=True)
        raise typer.Exit(2)
    with _failures(), progress.silent(as_json), Progress("restoring") as told:
        settings = _settings(data, config)
        if file is None:
            restoring.skip_ids(settings, now_ms=_now_ms())
            show(Done("The next start lets ids go on far ahead."), as_json=as_json)
            return
        manifest, aside = restoring.restore(
            settings, file, now_ms=_now_ms(), progress=told, replace=replace
        )
    hints = [f"Restored into {settings.data_dir}."]
    if aside is not None:
        hints.append(f"What was there is in {aside}.")
    if manifest.database != "sqlite":
        hints.append("Put the database back with its own tools before you start the server.")
    _show(manifest, file, hints, as_json=as_json)


def _show(manifest: "Manifest", file: Path, hints: list[str], *, as_json: bool) -> None:
    import msgspec

    made = datetime.fromtimestamp(manifest.made_at / 1000, UTC)
    what = [size(manifest.bytes), *(_many(name, count) for name, count in manifest.counts.items())]
    lines = [f"{file}: {', '.join(what)}, of {made:%Y-%m-%d %H:%M:%S} UTC", *hints]
    if as_json:
        item: Json = {"file": str(file), **msgspec.to_builtins(manifest)}
        show(Record(item), as_json=True)
        return
    for line in lines:
        say(one_line(line))


def _many(names: str, count: int) -> str:
    return f"{count} {names.removesuffix('s') if count == 1 else names}"


def _settings(data: str | None, config: Path | None) -> "Settings":
    from trunkline.control.settings import load

    return load({"data": data}, file=config)


def _check_server(settings: "Settings") -> None:
    """A server that runs may have been started with other settings than are given here."""
    from trunkline.cli.running_server import Running, ask
    from trunkline.control.store.engine import shown

    running = ask(settings.data_dir, settings.admin_token)
    if not isinstance(running, Running):
        return
    url = settings.database_url
    ours = "SQLite in the data folder" if url is None else shown(url)
    if (theirs := running.state.get("database")) != ours:
        raise CommandFailed(
            f"the running server uses {theirs}, and the settings here name {ours}: give its"
            " settings with --config, or in the environment"
        )


@contextmanager
def _failures() -> Iterator[None]:
    from trunkline.control.errors import InvalidRequest, TrunklineError

    try:
        yield
    except TrunklineError as error:
        if isinstance(error, InvalidRequest) and error.code == "INVALID_SETTINGS":
            say(f"error: {error.message}", err=True)
            raise typer.Exit(2) from error
        raise CommandFailed(error.message) from error


def _now_ms() -> int:
    return int(time.time() * 1000)

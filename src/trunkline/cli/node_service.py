"""`trunkline node install`, `uninstall` and `status`: the daemon as a service of this user.

It starts with the computer, stays when its user logs out, and is started again when it ends.
"""

import hashlib
import os
import shlex
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import systemd
from trunkline.cli.node import Root
from trunkline.cli.node_join import USUAL_HOME, home_of
from trunkline.cli.output import CommandFailed, Done, Json, Record, Shown, say, show
from trunkline.private_files import write_private

if TYPE_CHECKING:
    from trunkline.execution.home import Home

NodeHome = Annotated[
    Path | None,
    typer.Option("--home", help=f"The machine's home. [TRUNKLINE_NODE_HOME, {USUAL_HOME}]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Workspace = Annotated[
    Path | None,
    typer.Option(help="The folder of sessions that name none. [TRUNKLINE_NODE_WORKSPACE]"),
]

_KEPT = ("PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Of the environment that it is installed from, besides our own settings: where programs are."""
_OURS = ("TRUNKLINE_NODE_", "TRUNKLINE_FENCE", "TRUNKLINE_LOG_LEVEL", "TRUNKLINE_JSON_LOGS")


def add_to(group: typer.Typer) -> None:
    def example(line: str) -> str:
        return f"\b\nExample:\n  {line}"

    group.command("install", epilog=example("trunkline node install"))(install)
    group.command("uninstall", epilog=example("trunkline node uninstall"))(uninstall)
    group.command("status", epilog=example("trunkline node status"))(status)


def install(
    home: NodeHome = None, root: Root = None, workspace: Workspace = None, as_json: AsJson = False
) -> None:
    """Keep this machine's daemon running: a service of this user, also after logout and reboot.

    The machine has joined before (trunkline node --join). Settings TRUNKLINE_NODE_… of this shell
    are kept with it, in a file that only its user can read. Twice is like once.
    """
    service = _Service(home, {**os.environ, **_folders(root, workspace)})
    manager = systemd.Manager(os.environ)
    joined = service.joined()
    if joined is None:
        raise CommandFailed(
            f"this machine has not joined a server with the home {service.home.root}. First, where"
            " the server is: trunkline machine add; then run here the line that it prints"
        )
    service.check_program()
    if (problem := manager.problem()) is not None:
        raise CommandFailed(f"{problem}. {service.without_systemd()}")
    is_running = service.is_running() and not service.is_active(manager)
    service.write()
    manager.call("daemon-reload")
    manager.call("enable", service.name)
    manager.call("restart", service.name)
    lingering = manager.linger()
    lines = [f"{service.name} is installed: it starts with this computer, and is running now."]
    if is_running:
        lines += [
            "Another `trunkline node` runs with this home: stop it (Ctrl-C), and the service takes"
            " over within seconds."
        ]
    if lingering is not None:
        lines += [
            f"It ends when you log out, until somebody allows it to stay ({lingering}):",
            f"    sudo loginctl enable-linger {shlex.quote(systemd.login_name())}",
        ]
    lines += [f"Its log: journalctl --user -u {service.name}"]
    for line in lines[:-1] if as_json else lines:
        say(line, err=as_json)
    if as_json:
        show(Record(service.told(manager)), as_json=True)


def _folders(roots: list[Path] | None, workspace: Path | None) -> dict[str, str]:
    """As variables; a folder that is not there is a slip of whoever named it."""
    named = [*(roots or ()), *([workspace] if workspace else ())]
    if missing := [one for one in named if not one.expanduser().is_dir()]:
        raise CommandFailed(f"there is no folder {missing[0]}")
    found = {"TRUNKLINE_NODE_ROOTS": os.pathsep.join(map(_full, roots or ()))}
    found["TRUNKLINE_NODE_WORKSPACE"] = _full(workspace) if workspace else ""
    return {name: value for name, value in found.items() if value}


def _full(path: Path) -> str:
    return str(path.expanduser().resolve())


def uninstall(home: NodeHome = None, as_json: AsJson = False) -> None:
    """Stop the service and take it away. The machine stays joined, with its home. Twice is like
    once."""
    service = _Service(home, os.environ)
    manager = systemd.Manager(os.environ)
    shown: Shown = Done(f"there is no {service.name}")
    if service.is_installed:
        if manager.problem() is None:
            manager.call("disable", "--now", service.name)
        service.remove()
        if manager.problem() is None:
            manager.call("daemon-reload")
        shown = Done(f"{service.name} is stopped and gone; `trunkline node` starts this machine")
    show(shown, as_json=as_json)


def status(home: NodeHome = None, as_json: AsJson = False) -> None:
    """Show which server this machine has joined, and whether its service runs."""
    service = _Service(home, os.environ)
    show(Record(service.told(systemd.Manager(os.environ))), as_json=as_json)


class _Service:
    """The daemon of one home."""

    def __init__(self, home: Path | None, env: Mapping[str, str]) -> None:
        self._env = env
        self.home: Home = home_of(home, env)
        usual = home_of(Path(USUAL_HOME), {})
        digest = hashlib.sha256(os.fsencode(self.home.root)).hexdigest()[:8]
        own = "" if self.home.root == usual.root else f"-{digest}"
        self.name = f"trunkline-node{own}.service"
        self._unit = systemd.unit_folder(env) / self.name
        self._environment = systemd.environment_folder(env) / f"{self.name}.env"
        self._command = [*_program(), "node"]

    @property
    def is_installed(self) -> bool:
        return self._unit.exists() or self._environment.exists()

    def joined(self) -> Json | None:
        """Whose machine it is; None if it has not joined."""
        from trunkline.execution import joining
        from trunkline.execution.errors import SettingsError

        try:
            found = joining.read(self.home)
        except SettingsError as error:
            raise CommandFailed(str(error)) from error
        return None if found is None else {"server": found.url, "machine_id": found.machine_id}

    def check_program(self) -> None:
        """Raises where the program itself will not stay."""
        cache = Path(self._env.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        places = (cache, Path(self._env.get("UV_CACHE_DIR") or cache))
        if any(Path(sys.prefix).is_relative_to(place) for place in places):
            raise CommandFailed(
                "trunkline runs from a cache here (uvx, pipx run), which may be emptied. Install"
                " it first: uv tool install trunkline, or pipx install trunkline; then run"
                " trunkline node install"
            )

    def write(self) -> None:
        values = {name: self._env[name] for name in _KEPT if self._env.get(name)}
        ours = sorted(name for name in self._env if name.startswith(_OURS))
        values |= {name: self._env[name] for name in ours if self._env[name]}
        values["TRUNKLINE_NODE_HOME"] = str(self.home.root)
        unit = systemd.unit(
            f"Trunkline machine in {self.home.root}",
            self._command,
            self._environment,
            self.home.root,
        )
        try:
            write_private(self._environment, systemd.environment_file(values) + self._own(values))
            self._unit.parent.mkdir(parents=True, exist_ok=True)
            self._unit.write_text(unit, encoding="utf-8")
        except OSError as error:
            raise CommandFailed(f"cannot write {error.filename}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise CommandFailed(f"{self._environment} is no text: {error.reason}") from error

    def _own(self, values: Mapping[str, str]) -> str:
        """Lines of an earlier file for what is not said anew: keys that its owner put there."""
        if not self._environment.exists():
            return ""
        lines = self._environment.read_text(encoding="utf-8").splitlines()
        kept = [one for one in lines if one and one.partition("=")[0].strip() not in values]
        return "".join(f"{line}\n" for line in kept)

    def remove(self) -> None:
        for path in (self._unit, self._environment):
            path.unlink(missing_ok=True)

    def is_running(self) -> bool:
        """Whether some daemon has this home now."""
        from trunkline.execution.errors import HomeBusy

        try:
            os.close(self.home.claim())
        except HomeBusy:
            return True
        except OSError:
            return False
        return False

    def is_active(self, manager: systemd.Manager) -> bool:
        return self.is_installed and manager.state("is-active", self.name) == "active"

    def told(self, manager: systemd.Manager) -> Json:
        """For people and programs."""
        problem = manager.problem()
        is_known = self.is_installed and problem is None
        joined = self.joined() or {"server": None, "machine_id": None}
        return {
            "home": str(self.home.root),
            **joined,
            "running": self.is_running(),
            "service": self.name if self.is_installed else None,
            "enabled": manager.state("is-enabled", self.name) if is_known else None,
            "active": manager.state("is-active", self.name) if is_known else None,
            "stays_after_logout": manager.lingers() if is_known else None,
            "detail": problem,
        }

    def without_systemd(self) -> str:
        """What does it instead."""
        home = shlex.quote(str(self.home.root))
        start = f"@reboot TRUNKLINE_NODE_HOME={home} {shlex.join(self._command)}"
        start = start.replace("%", r"\%")  # which is the end of a line there
        return f"Let cron start it instead (crontab -e), with the line:\n    {start}"


def _program() -> list[str]:
    """This very installation, wherever it is started from."""
    script = Path(sysconfig.get_path("scripts")) / "trunkline"
    if script.is_file():
        return [str(script)]
    # -P: a module in the folder that it is started in is not taken for one of ours.
    return [sys.executable, "-P", "-c", "from trunkline.cli.main import main; main()"]

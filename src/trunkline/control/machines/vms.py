"""Schedules execution planes: their records, credentials, time limits and, if local, processes.

Called by the REST API and the server's start and stop. Knows of lines only what `Lines` says.
States: pending → online ⇄ offline (set by the registry of lines), failed, terminated (set here).
"""

import asyncio
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import structlog

from trunkline import limits
from trunkline.control.access.auth import Auth, Principal
from trunkline.control.clock import Clock, now_ms
from trunkline.control.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Unavailable,
)
from trunkline.control.machines import homes
from trunkline.control.machines.local_vm import Keeper, Lines, Sleep, first
from trunkline.control.machines.processes import Child, scrubbed
from trunkline.control.machines.vm_records import ACTIVE, UPS, UPS_NAME, VmRecords
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store
from trunkline.private_files import NotPrivate, make_folder
from trunkline.wire.semibot.close_codes import CloseCode

_log = structlog.get_logger()

PROVIDERS = ("manual", "local")
_DAEMON = "trunkline.execution.main"


class Scheduled(msgspec.Struct, frozen=True):
    """What a VM needs to connect. `expires_at` is the ticket's end, Unix ms."""

    vm_id: str
    token: str
    ticket: str
    ws_url: str
    expires_at: int


class Vms:
    """Every execution plane of this control plane, from its scheduling to its end."""

    def __init__(
        self,
        store: Store,
        auth: Auth,
        settings: Settings,
        machines: Lines,
        clock: Clock = now_ms,
        *,
        sleep: Sleep = asyncio.sleep,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self._records = VmRecords(store, clock)
        self._auth = auth
        self._settings = settings
        self._machines = machines
        self._clock = clock
        self._sleep = sleep
        self._env = env
        self._local_url = _local_url(settings)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    async def start(self, base_url: str | None = None) -> None:
        """At boot: goes on waiting for pending VMs and starts the local ones that should run.

        `base_url` is where this server listens, when the settings leave that open (port 0).
        """
        self._local_url = base_url or self._local_url
        for vm in await self._records.active():
            if vm.is_ups:
                # `keep_one_for` sees to it, where it is wanted at all.
                await self._records.set_state(vm.id, "offline", "runs under `trunkline up` alone")
            elif vm.provider == "local":
                self._run(vm.id, self._keep(vm.id, vm.user_id, vm.org_id))
            elif vm.state == "pending":
                self._run(vm.id, self._watch(vm.id))

    async def stop(self) -> None:
        """Ends every watch and every local process. Their records stay: the next boot goes on."""
        self._stopping = True
        await asyncio.gather(*(self._end(machine_id) for machine_id in list(self._tasks)))

    async def keep_one_for(self, owner: Principal) -> str | None:
        """The local VM of the person who started this: the one there was, with its files. The id
        of a new one, if there was none."""
        vms = [vm for vm in await self._records.local_of(owner.user_id) if vm.is_ups]
        if vms:
            vm = vms[-1]
            self._run(vm.id, self._keep(vm.id, vm.user_id, vm.org_id))
            return None
        made = await self.schedule(
            owner, owner.user_id, "local", UPS_NAME, base_url=self._local_url, instance=UPS
        )
        return made.vm_id

    async def schedule(
        self,
        principal: Principal,
        user_id: str,
        provider: str = "manual",
        name: str | None = None,
        *,
        base_url: str,
        instance: str | None = None,
        dialect: str | None = None,
    ) -> Scheduled:
        """A new VM for that user, with the credentials for its first connection. `dialect`: how
        it speaks, if its owner knows."""
        if self._stopping:
            raise Unavailable("the control plane is going down")
        if provider not in PROVIDERS:
            raise InvalidRequest(f"provider must be one of {', '.join(PROVIDERS)}")
        label = _checked_name(name, provider)
        org_id = await self._records.org_of(principal, user_id)
        if provider == "local":
            if not principal.is_admin:
                # A local VM runs what its agents run as the control plane's own system user.
                raise Forbidden("only an administrator may start a VM on the control plane's host")
            self._command()
        ws_url = _ws_url(base_url)
        machine_id = await self._records.add(
            user_id, provider, label, instance=instance, dialect=dialect
        )
        made = await self._credentials(machine_id, user_id, org_id, ws_url)
        if provider == "local":
            self._run(machine_id, self._keep(machine_id, user_id, org_id))
        else:
            self._run(machine_id, self._watch(machine_id))
        _log.info("vm scheduled", machine=machine_id, user=user_id, provider=provider)
        return made

    async def renew(self, principal: Principal, machine_id: str, *, base_url: str) -> Scheduled:
        """Fresh credentials for a VM that is there already; those it has stay good."""
        vm = await self._records.owned(principal, machine_id)
        if vm.kind != "vm":
            raise InvalidRequest("only an execution plane has a token of this kind")
        if vm.state not in ACTIVE:
            raise Conflict(f"this VM is {vm.state}; schedule a new one", code="VM_NOT_ACTIVE")
        made = await self._credentials(vm.id, vm.user_id, vm.org_id, _ws_url(base_url))
        _log.info("vm token renewed", machine=vm.id, user=principal.user_id)
        return made

    async def revoke_tokens(self, principal: Principal, machine_id: str) -> None:
        """Ends what a machine of any kind may connect with, and its line. The machine stays, with
        its sessions: it comes back with credentials that are issued from now on."""
        await self._records.owned(principal, machine_id)
        await self._records.revoke_tokens(machine_id)
        self._auth.revoke_machine(machine_id)
        self._machines.close(machine_id, CloseCode.AUTH_FAILED, "the token was revoked")
        _log.info("tokens revoked", machine=machine_id, user=principal.user_id)

    async def set_dialect(self, principal: Principal, machine_id: str, dialect: str | None) -> None:
        """How a VM speaks its wire, from its next connection on. None: its habits tell anew."""
        await self._records.owned(principal, machine_id)
        await self._records.set_dialect(machine_id, dialect)
        _log.info("dialect set", machine=machine_id, dialect=dialect, user=principal.user_id)

    async def _credentials(
        self, machine_id: str, user_id: str, org_id: str, ws_url: str
    ) -> Scheduled:
        token = await self._token(machine_id, user_id, org_id)
        ticket, expires_at = await self._auth.issue_ticket(user_id, machine_id)
        return Scheduled(machine_id, token, ticket, ws_url, expires_at)

    async def _token(self, machine_id: str, user_id: str, org_id: str) -> str:
        tokens_from = await self._records.tokens_from(machine_id)
        return self._auth.issue_vm_token(user_id, org_id, machine_id, tokens_from)

    async def terminate(self, principal: Principal, machine_id: str) -> None:
        """Gives a machine of any kind up: its line is closed, its process, if we started it,
        stopped. Twice is like once."""
        await self._records.owned(principal, machine_id)
        # The record and the registry first: from here on nobody lets this VM in again, and the
        # end of its line no longer counts as a line that broke.
        await self._records.set_state(
            machine_id, "terminated", f"terminated by {principal.user_id}"
        )
        self._machines.terminated(machine_id)
        self._machines.close(machine_id, CloseCode.NO_ACTIVE_VM, "this VM was terminated")
        await self._end(machine_id)
        _log.info("vm terminated", machine=machine_id, user=principal.user_id)

    def _run(self, machine_id: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"vm-{machine_id}")
        self._tasks[machine_id] = task
        task.add_done_callback(lambda done: self._finished(machine_id, done))

    def _finished(self, machine_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(machine_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("vm is no longer watched", machine=machine_id, exc_info=error)

    async def _end(self, machine_id: str) -> None:
        task = self._tasks.get(machine_id)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, machine_id: str) -> None:
        """A VM that somebody else starts: it connects in time, or has failed."""
        timeout_s = self._settings.vm_connect_timeout_s
        try:
            came = await first(
                online=self._machines.wait_online(machine_id), late=self._sleep(timeout_s)
            )
        except NotFound:  # its user was removed meanwhile
            return
        if came == "online" or self._machines.is_online(machine_id):
            return
        reason = f"did not connect within {timeout_s:g} s"
        if not await self._records.set_state(machine_id, "failed", reason, only_from="pending"):
            return  # it came, or was given up
        if self._machines.is_online(machine_id):  # it came while that was written
            await self._records.set_state(machine_id, "online", None, only_from="failed")
            return
        self._failed(machine_id, reason)

    async def _keep(self, machine_id: str, user_id: str, org_id: str) -> None:
        """A VM whose process is ours."""

        async def launch(reason: str | None) -> Child:
            detail = None if reason is None else f"starting again, it {reason}"
            if not await self._records.set_state(machine_id, "pending", detail):
                raise NotFound("machine", machine_id)
            self._machines.revive(machine_id)
            return await self._launch(machine_id, user_id, org_id)

        async def failed(reason: str) -> None:
            await self._fail(machine_id, reason)

        keeper = Keeper(
            machine_id,
            launch,
            failed,
            self._machines,
            connect_timeout_s=self._settings.vm_connect_timeout_s,
            away_s=self._settings.machine_away_s,
            clock=self._clock,
            sleep=self._sleep,
        )
        try:
            await keeper.run()
        except NotFound:
            _log.info("vm record is gone", machine=machine_id)
        except Exception as error:
            _log.exception("vm cannot be kept up", machine=machine_id)
            await self._fail(machine_id, f"cannot be kept up: {type(error).__name__}")

    async def _launch(self, machine_id: str, user_id: str, org_id: str) -> Child:
        command = self._command()
        folder = homes.home(self._settings, machine_id)
        try:
            await asyncio.to_thread(make_folder, folder.parent)
            if await asyncio.to_thread(make_folder, folder):
                _log.warning("was open to other users, and is closed to them now", path=str(folder))
        except NotPrivate as error:
            raise Unavailable(str(error), code="NOT_PRIVATE") from error
        except OSError as error:
            raise Unavailable(f"{folder} cannot be made: {error.strerror}") from error
        ticket, _ = await self._auth.issue_ticket(user_id, machine_id)
        is_operators = self._auth.is_first_user(user_id)
        env = scrubbed(self._env, None if is_operators else folder) | {
            "USER_ID": user_id,
            "VM_USER_ID": user_id,
            "VM_TOKEN": await self._token(machine_id, user_id, org_id),
            "VM_TICKET": ticket,
            "CONTROL_PLANE_WS": _ws_url(self._local_url),
            "TRUNKLINE_NODE_HOME": str(folder),
            "TRUNKLINE_NODE_HIDDEN": os.pathsep.join(map(str, self._hidden())),
            "TRUNKLINE_FENCE": self._settings.fence,
            "TRUNKLINE_JSON_LOGS": "true",
        }
        if is_operators and self._settings.node_roots:
            # The folders are the operator's: nobody else's machine may work there.
            env["TRUNKLINE_NODE_ROOTS"] = self._settings.node_roots
        if is_operators and self._settings.node_workspace:
            env["TRUNKLINE_NODE_WORKSPACE"] = self._settings.node_workspace
        return await Child.start(command, env, folder, machine_id)

    def _hidden(self) -> list[Path]:
        """What no agent sees, on whichever machine of this host, wherever it works."""
        settings = self._settings
        places = (settings.data_dir, settings.keys_dir, settings.machines_dir)
        return [place.absolute() for place in places]

    def _command(self) -> list[str]:
        """What a local VM runs; Unavailable when it is not there."""
        if self._settings.vm_command is not None:
            try:
                command = shlex.split(self._settings.vm_command)
            except ValueError as error:
                raise Unavailable(f"vm_command: {error}") from error
            if not command or shutil.which(command[0], path=self._env.get("PATH")) is None:
                raise Unavailable(
                    f"vm_command: {self._settings.vm_command!r} is no program that can be run here"
                )
            return command
        package = _DAEMON.rpartition(".")[0]
        if importlib.util.find_spec(package) is None or not importlib.util.find_spec(_DAEMON):
            raise Unavailable(
                "this installation has no execution plane daemon; set vm_command to a program"
                " that is one, or use provider 'manual'"
            )
        # -P: a module in the folder that it is started in is not taken for one of ours.
        return [sys.executable, "-P", "-m", _DAEMON]

    async def _fail(self, machine_id: str, reason: str) -> None:
        if await self._records.set_state(machine_id, "failed", reason):
            self._failed(machine_id, reason)

    def _failed(self, machine_id: str, reason: str) -> None:
        _log.error("vm failed", machine=machine_id, reason=reason)
        self._machines.failed(machine_id, reason)


def _checked_name(name: str | None, provider: str) -> str:
    label = (name if name is not None else f"{provider} VM").strip()
    if not label or len(label) > limits.NAME_CHARS_MAX or not label.isprintable():
        raise InvalidRequest(f"name must be 1 to {limits.NAME_CHARS_MAX} printable characters long")
    return label


def _ws_url(base_url: str) -> str:
    """Where a VM connects, given where people do."""
    parts = urlsplit(base_url)
    schemes = {"http": "ws", "https": "wss"}
    if parts.scheme not in schemes or not parts.netloc:
        raise InvalidRequest(f"{base_url[:200]!r} is no http address")
    return urlunsplit(
        (schemes[parts.scheme], parts.netloc, parts.path.rstrip("/") + "/ws/vm", "", "")
    )


def _local_url(settings: Settings) -> str:
    """This server as seen from its own host."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(  # noqa: S104
        settings.host, settings.host
    )
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"

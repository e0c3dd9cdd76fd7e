"""Schedules execution planes: their records, credentials, time limits and, if local, processes.

Called by the REST API and the server's start and stop. Knows of lines only what `Lines` says.
States: pending → online ⇄ offline (set by the registry of lines), failed, terminated (set here).
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline import extras, limits
from trunkline.control.access.auth import Auth, Principal
from trunkline.control.clock import Clock, now_ms
from trunkline.control.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Unavailable,
)
from trunkline.control.machines import connecting, homes
from trunkline.control.machines.local_vm import Lines, Sleep, Supervisor, first
from trunkline.control.machines.machine import LineEnd
from trunkline.control.machines.processes import Child, scrubbed
from trunkline.control.machines.vm_program import daemon_command
from trunkline.control.machines.vm_records import ACTIVE, UPS, UPS_NAME, VmRecords
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store
from trunkline.private_files import NotPrivate, make_folder

_log = structlog.get_logger()

PROVIDERS = ("manual", "local")
_PATH = "/ws/vm"


class Scheduled(msgspec.Struct, frozen=True):
    """What a VM needs to connect. `expires_at` is the ticket's end, Unix ms; the token alone will
    do. `environment`: all of it, as any daemon of the wire reads it. `start_command`: the line for
    a shell that starts ours; null for one that this server starts."""

    vm_id: str
    token: str
    ticket: str
    ws_url: str
    expires_at: int
    environment: dict[str, str]
    start_command: str | None


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
        problem: Callable[[], str | None] = extras.problem,
    ) -> None:
        """`problem`: why our own daemon cannot run on this host."""
        self._records = VmRecords(store, clock)
        self._auth = auth
        self._settings = settings
        self._machines = machines
        self._clock = clock
        self._sleep = sleep
        self._env = env
        self._problem = problem
        self._local_url = _local_url(settings)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._supervisors: dict[str, Supervisor] = {}
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
                code_s = (await self._records.code_ends_at(vm.id) - self._clock()) / 1000
                within_s = max(code_s, self._settings.vm_connect_timeout_s)
                self._run(vm.id, self._watch(vm.id, within_s))

    async def stop(self) -> None:
        """Ends every watch and every local process. Their records stay: the next boot goes on."""
        self._stopping = True
        await asyncio.gather(*(self._end(machine_id) for machine_id in list(self._tasks)))

    async def keep_one_for(self, owner: Principal) -> str | None:
        """The local VM of the person who started this: the one there was, with its files. The id
        of a new one, if there was none. Unavailable where no machine can run at all."""
        try:
            self._command()
        except Unavailable as error:
            alone = "`trunkline up --no-machine` starts the control plane alone"
            raise Unavailable(f"{error.message} ({alone})") from error
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
        connect_within_s: float | None = None,
    ) -> Scheduled:
        """A new VM for that user, with the credentials for its first connection. `dialect`: how
        it speaks, if its owner knows. `connect_within_s`: how long a person may take to start it;
        after a restart of the control plane the setting counts again, or its join code's end."""
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
        ws_url = connecting.socket_url(base_url, _PATH)
        machine_id = await self._records.add(
            user_id, provider, label, instance=instance, dialect=dialect
        )
        made = await self._credentials(machine_id, user_id, org_id, ws_url, provider)
        if provider == "local":
            self._run(machine_id, self._keep(machine_id, user_id, org_id))
        else:
            self._run(machine_id, self._watch(machine_id, connect_within_s))
        _log.info("vm scheduled", machine=machine_id, user=user_id, provider=provider)
        return made

    async def expect(
        self, principal: Principal, user_id: str, name: str | None, *, within_s: float
    ) -> str:
        """A new VM that comes from elsewhere, and gets its credentials when it does; its id."""
        if self._stopping:
            raise Unavailable("the control plane is going down")
        label = _checked_name(name, "manual")
        await self._records.org_of(principal, user_id)
        machine_id = await self._records.add(user_id, "manual", label)
        self._run(machine_id, self._watch(machine_id, within_s))
        _log.info("vm expected", machine=machine_id, user=user_id)
        return machine_id

    async def let_in(self, machine_id: str, *, base_url: str) -> Scheduled:
        """Credentials for a VM that has shown that it may have them; also one that comes late."""
        vm = await self._records.get(machine_id)
        if vm.kind != "vm" or not (vm.state in ACTIVE or await self.readmit(machine_id)):
            raise Conflict(f"this VM is {vm.state}", code="VM_NOT_ACTIVE")
        if not self._machines.is_online(machine_id) and machine_id not in self._tasks:
            self._run(machine_id, self._watch(machine_id))
        ws_url = connecting.socket_url(base_url, _PATH)
        return await self._credentials(vm.id, vm.user_id, vm.org_id, ws_url, vm.provider)

    async def readmit(self, machine_id: str) -> bool:
        """A VM that had failed because it did not come in time comes after all. False for one that
        we start ourselves, that was given up, or whose user has no room for it any more."""
        if not await self._records.readmit(machine_id):
            return False
        self._machines.revive(machine_id)
        _log.info("vm comes late", machine=machine_id)
        return True

    async def withdraw(self, machine_id: str, reason: str) -> None:
        """A VM that was expected and has never come is not expected any more."""
        await self._give_up(machine_id, reason)
        _log.info("vm not expected any more", machine=machine_id, reason=reason)

    async def renew(self, principal: Principal, machine_id: str, *, base_url: str) -> Scheduled:
        """Fresh credentials for a VM that is there already; those it has stay good."""
        vm = await self._records.owned(principal, machine_id)
        if vm.kind != "vm":
            raise InvalidRequest("only an execution plane has a token of this kind")
        if vm.state not in ACTIVE:
            raise Conflict(f"this VM is {vm.state}; schedule a new one", code="VM_NOT_ACTIVE")
        ws_url = connecting.socket_url(base_url, _PATH)
        made = await self._credentials(vm.id, vm.user_id, vm.org_id, ws_url, vm.provider)
        _log.info("vm token renewed", machine=vm.id, user=principal.user_id)
        return made

    async def revoke_tokens(self, principal: Principal, machine_id: str) -> None:
        """Ends what a machine of any kind may connect with, and its line. The machine stays, with
        its sessions: it comes back with credentials that are issued from now on."""
        await self._records.owned(principal, machine_id)
        await self._records.revoke_tokens(machine_id)
        self._auth.revoke_machine(machine_id)
        if supervisor := self._supervisors.get(machine_id):
            supervisor.start_again("had its token revoked")  # with the next one
        self._machines.end_line(machine_id, LineEnd.REVOKED)
        _log.info("tokens revoked", machine=machine_id, user=principal.user_id)

    async def set_dialect(self, principal: Principal, machine_id: str, dialect: str | None) -> None:
        """How a VM speaks its wire, from its next connection on. None: its habits tell anew."""
        await self._records.owned(principal, machine_id)
        await self._records.set_dialect(machine_id, dialect)
        _log.info("dialect set", machine=machine_id, dialect=dialect, user=principal.user_id)

    async def rename(self, principal: Principal, machine_id: str, name: str) -> None:
        """What people call a machine, of whichever kind."""
        vm = await self._records.owned(principal, machine_id)
        label = _checked_name(name, vm.provider)
        if label == UPS_NAME and not vm.is_ups:
            raise InvalidRequest(f"{UPS_NAME!r} is what `trunkline up` calls its own machine")
        await self._records.rename(machine_id, label, is_ups=vm.is_ups)

    async def _credentials(
        self, machine_id: str, user_id: str, org_id: str, ws_url: str, provider: str
    ) -> Scheduled:
        token = await self._token(machine_id, user_id, org_id)
        ticket, expires_at = await self._auth.issue_ticket(user_id, machine_id)
        environment = connecting.vm_environment(user_id, token, ticket, ws_url)
        command = connecting.node_command(environment) if provider == "manual" else None
        return Scheduled(machine_id, token, ticket, ws_url, expires_at, environment, command)

    async def _token(self, machine_id: str, user_id: str, org_id: str) -> str:
        tokens_from = await self._records.tokens_from(machine_id)
        return self._auth.issue_vm_token(user_id, org_id, machine_id, tokens_from)

    async def terminate(self, principal: Principal, machine_id: str) -> None:
        """Gives a machine of any kind up: its line is closed, its process, if we started it,
        stopped. Twice is like once."""
        await self._records.owned(principal, machine_id)
        await self._give_up(machine_id, f"terminated by {principal.user_id}")
        _log.info("vm terminated", machine=machine_id, user=principal.user_id)

    async def _give_up(self, machine_id: str, detail: str) -> None:
        # The record and the registry first: from here on nobody lets this VM in again, and the
        # end of its line no longer counts as a line that broke.
        await self._records.set_state(machine_id, "terminated", detail)
        self._machines.terminated(machine_id)
        self._machines.end_line(machine_id, LineEnd.TERMINATED)
        await self._end(machine_id)

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

    async def _watch(self, machine_id: str, within_s: float | None = None) -> None:
        """A VM that somebody else starts: it connects in time, or has failed."""
        timeout_s = within_s or self._settings.vm_connect_timeout_s
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

        supervisor = Supervisor(
            machine_id,
            launch,
            failed,
            self._machines,
            connect_timeout_s=self._settings.vm_connect_timeout_s,
            away_s=self._settings.machine_away_s,
            clock=self._clock,
            sleep=self._sleep,
        )
        self._supervisors[machine_id] = supervisor
        try:
            await supervisor.run()
        except NotFound:
            _log.info("vm record is gone", machine=machine_id)
        except Exception as error:
            _log.exception("vm cannot be kept up", machine=machine_id)
            await self._fail(machine_id, f"cannot be kept up: {type(error).__name__}")
        finally:
            self._supervisors.pop(machine_id, None)

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
        token = await self._token(machine_id, user_id, org_id)
        ws_url = connecting.socket_url(self._local_url, _PATH)
        env = scrubbed(self._env, None if is_operators else folder)
        env |= connecting.vm_environment(user_id, token, ticket, ws_url)
        env |= {
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
        places = (settings.data_dir, settings.keys_place, settings.machines_dir)
        return [place.absolute() for place in places]

    def _command(self) -> list[str]:
        """What a local VM runs; Unavailable when it is not there, or cannot run."""
        return daemon_command(self._settings, self._env, self._problem)

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


def _local_url(settings: Settings) -> str:
    """This server as seen from its own host."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(  # noqa: S104
        settings.host, settings.host
    )
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"

"""What the REST API needs of the control plane's core, and nothing more.

A protocol rather than an import: the core builds the API, so the API must not know the core.
"""

from typing import Protocol

from trunkline.control.access.auth import Auth
from trunkline.control.access.refusals import Refusals
from trunkline.control.door.door import TakeBack
from trunkline.control.groups import Groups
from trunkline.control.log.log import Log
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.secrets import MachineSecrets
from trunkline.control.machines.vms import Vms
from trunkline.control.records import Records
from trunkline.control.services import Services
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store


class Metrics(Protocol):
    def render(self) -> bytes:
        """Everything counted, in Prometheus' text format."""


class Core(Protocol):
    """The parts that handlers call."""

    @property
    def settings(self) -> Settings: ...
    @property
    def store(self) -> Store: ...
    @property
    def auth(self) -> Auth: ...
    @property
    def records(self) -> Records: ...
    @property
    def services(self) -> Services: ...
    @property
    def sessions(self) -> Sessions: ...
    @property
    def log(self) -> Log: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def machines(self) -> Machines: ...
    @property
    def machine_secrets(self) -> MachineSecrets: ...
    @property
    def refusals(self) -> Refusals: ...
    @property
    def vms(self) -> Vms: ...
    @property
    def groups(self) -> Groups: ...
    @property
    def metrics(self) -> Metrics: ...

    @property
    def take_back(self) -> TakeBack:
        """Hands a request for a stream, which the door should have caught, to the SSE edge."""

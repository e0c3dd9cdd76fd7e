"""The records that people keep: orgs, users, agents, tokens, credentials, and machines to look at.

Each module holds the record's structs and the operations on it, every one of them scoped to the
person who asks. Knows the store, the keys and `Auth`; knows nothing of HTTP.
"""

from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock, now_ms
from trunkline.control.quotas import Quotas
from trunkline.control.records.agents import Agents
from trunkline.control.records.credentials import Credentials
from trunkline.control.records.lookup import Lookup
from trunkline.control.records.machines import MachineRecords
from trunkline.control.records.people import Orgs, Tokens, Users
from trunkline.control.store.engine import Store
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.control.watchers import Watchers


class Records:
    """All of them, over one store."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        auth: Auth,
        clock: Clock = now_ms,
        tuning: Tuning = DEFAULT,
        quotas: Quotas | None = None,
        keys_changed: Watchers[str] | None = None,
    ) -> None:
        self.orgs = Orgs(store, auth, clock)
        self.users = Users(store, auth, clock)
        self.tokens = Tokens(store, auth, clock, tuning.tokens_per_user_max)
        self.agents = Agents(store, self.users, clock, quotas or Quotas(store))
        self.credentials = Credentials(store, keys, clock, keys_changed)
        self.machines = MachineRecords(store)
        self.lookup = Lookup(store)

"""The tables of people, agents, machines and sessions, as SQLAlchemy Core. Times are Unix
milliseconds; JSON columns are objects.

Embedded, the records are a SQLite file of their own (the log's tables are in `log_schema`), so that
the log's constant commits and the records' transactions never wait for each other's write lock.
"""

import sqlalchemy as sa

from trunkline.control.store.columns import created, key, own_id, records, ref

orgs = sa.Table(
    "orgs",
    records,
    own_id(),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("default_runtime_type", sa.String(40)),
    created(),
)

users = sa.Table(
    "users",
    records,
    own_id(),
    ref("org_id", "orgs"),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("role", sa.String(20), nullable=False),  # member | org_admin | admin
    sa.Column("default_runtime_type", sa.String(40)),
    created(),
)

tokens = sa.Table(
    "tokens",
    records,
    own_id(),
    ref("user_id", "users"),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),  # SHA-256 of the secret, hex
    sa.Column("kind", sa.String(20), nullable=False),  # bearer | cookie | login
    sa.Column("label", sa.String(200)),
    sa.Column("scopes", sa.JSON),  # of read, talk, approve, admin; null: all that its user may
    sa.Column("last_used_at", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger),
    # of a login link: when the login that it opens ends at the latest; null: its usual life
    sa.Column("login_until", sa.BigInteger),
    sa.Column("ends_with", sa.String(36)),  # the token that takes this one along when it is revoked
    created(),
)

# How a person, and the machines that they start with one secret, show who they are.
user_secrets = sa.Table(
    "user_secrets",
    records,
    key("user_id", "users"),
    sa.Column("password_hash", sa.String(200)),  # null: logs in with a token
    sa.Column("agent_secret_hash", sa.String(64), unique=True),  # SHA-256, hex
    sa.Column("sealed_agent_secret", sa.LargeBinary),  # it is shown again on request
)

agents = sa.Table(
    "agents",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("system_prompt", sa.Text),
    sa.Column("model", sa.String(200)),
    sa.Column("temperature", sa.Float),
    sa.Column("max_tokens", sa.Integer),
    sa.Column("tools", sa.JSON),
    sa.Column("confirm", sa.String(20), nullable=False),  # never | dangerous | always
    sa.Column("permission_mode", sa.String(20)),  # plan | ask | accept_edits | free
    sa.Column("runtime_type", sa.String(40)),
    sa.Column("skills", sa.JSON),  # null: every skill of the org
    sa.Column("mcp_servers", sa.JSON),  # null: every server of the user and org
    sa.Column("sub_agents", sa.JSON),
    sa.Column("session_config", sa.JSON),
    sa.Column("openclaw_config", sa.JSON),
    sa.Column("agent_app", sa.String(60)),  # which app of a device runs it
    sa.Column("workspace", sa.Text),  # the folder that it works in, on its machine
    sa.Column("acp", sa.JSON),  # which program the runtime `acp` runs
    created(),
)

machines = sa.Table(
    "machines",
    records,
    own_id(),
    ref("user_id", "users"),
    sa.Column("kind", sa.String(20), nullable=False),  # vm | agp | yeaft | group
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("provider", sa.String(20), nullable=False),  # manual | local
    # pending: scheduled, never seen; online; offline; failed: never came or cannot be kept up;
    # terminated: given up by its owner
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("detail", sa.Text),
    sa.Column("capabilities", sa.JSON, nullable=False),
    # documented | deployed: how it speaks, where a wire has both; null: not known yet
    sa.Column("dialect", sa.String(20)),
    # what it last said that it can run; empty: it says nothing of that; null: never heard
    sa.Column("runtimes", sa.JSON(none_as_null=True)),
    # what it calls itself, when it was found by its owner's secret
    sa.Column("instance", sa.String(200)),
    # its tokens that were issued before are revoked
    sa.Column("tokens_from", sa.BigInteger),
    sa.Column("last_seen_at", sa.BigInteger),
    created(),
)

tickets = sa.Table(
    "tickets",
    records,
    sa.Column("hash", sa.String(64), primary_key=True),
    ref("user_id", "users"),
    ref("machine_id", "machines"),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),
)

sessions = sa.Table(
    "sessions",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    ref("agent_id", "agents", cascade=False),
    ref("machine_id", "machines", cascade=False),
    sa.Column("title", sa.String(200)),
    sa.Column("runtime_type", sa.String(40), nullable=False),
    sa.Column("agent_config", sa.JSON, nullable=False),
    sa.Column("session_config", sa.JSON, nullable=False),
    sa.Column("openclaw_config", sa.JSON),
    sa.Column("status", sa.String(20), nullable=False),  # active | closed
    sa.Column("created_by", sa.String(36)),  # null: its own user
    sa.Column("shown", sa.JSON),  # how its owner's page lists it: pinned, hidden, order …
    sa.Column("remote", sa.JSON),  # what its machine calls it, where that is not its id
    # the conversation of another program that it goes on with: machine, runtime, preset, id
    sa.Column("adopted", sa.String(500)),
    sa.Column("forked_from", sa.JSON),  # the session and its turn up to which it is a copy
    sa.Column("left_machines", sa.JSON),  # ids of those that it was moved away from, oldest first
    # The projection: what the log says up to this event and this note. Null state: a session
    # whose records were written before there were projections.
    sa.Column("state", sa.LargeBinary),
    sa.Column("folded_id", sa.BigInteger, nullable=False, default=0, server_default="0"),
    sa.Column("folded_note", sa.BigInteger, nullable=False, default=0, server_default="0"),
    # closed, and its machine was not told yet
    sa.Column("unsettled", sa.Boolean, nullable=False, default=False, server_default=sa.false()),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    created(),
)

sa.Index(
    "sessions_adopted",
    sessions.c.adopted,
    unique=True,
    sqlite_where=sessions.c.status == "active",
    postgresql_where=sessions.c.status == "active",
)

# Ids under which a history is being written for a session that has no record yet.
drafts = sa.Table("drafts", records, own_id(), created())

turns = sa.Table(
    "turns",
    records,
    own_id(),
    ref("session_id", "sessions"),
    sa.Column("client_message_id", sa.String(200)),
    # queued: held for its machine; sent; completed; cancelled; failed. Of a message to a running
    # turn: steering, and steered when that turn's machine has taken it
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("metadata", sa.JSON, nullable=False),
    sa.Column("steers", sa.String(36)),  # the running turn that the message is for
    sa.Column("answer", sa.Text),
    sa.Column("finished_at", sa.BigInteger),
    created(),
    sa.UniqueConstraint("session_id", "client_message_id"),
)

credentials = sa.Table(
    "credentials",
    records,
    own_id(),
    ref("user_id", "users"),
    sa.Column("provider", sa.String(60), nullable=False),
    sa.Column("sealed_key", sa.LargeBinary, nullable=False),
    sa.Column("base_url", sa.String(500)),
    created(),
    sa.UniqueConstraint("user_id", "provider"),
)

approvals = sa.Table(
    "approvals",
    records,
    own_id(),
    ref("session_id", "sessions"),
    ref("user_id", "users"),
    # the machine's own id of the question
    sa.Column("request_id", sa.String(200), nullable=False, index=True),
    sa.Column("state", sa.String(20), nullable=False),  # pending | confirmed | denied
    sa.Column("request", sa.JSON, nullable=False),
    sa.Column("answer", sa.JSON),
    sa.Column("answered_by", sa.String(36)),
    sa.Column("answered_at", sa.BigInteger),
    created(),
    sa.UniqueConstraint("session_id", "request_id"),
)

machine_secrets = sa.Table(
    "machine_secrets",
    records,
    key("machine_id", "machines"),
    sa.Column("guid", sa.String(128), unique=True),  # a device's own name for itself
    sa.Column("hash", sa.String(64), unique=True),  # SHA-256 of its secret, hex; null: none
    sa.Column("agent_apps", sa.JSON, nullable=False),
    created(),
)

persons = sa.Table(
    "persons",
    records,
    own_id(),
    ref("user_id", "users"),
    sa.Column("name", sa.String(60), nullable=False),
    sa.Column("prompt", sa.Text, nullable=False),
    sa.Column("model", sa.String(200)),
    sa.Column("machine_id", sa.String(36)),
    sa.Column("runtime_type", sa.String(40)),
    # never | dangerous | always
    sa.Column("confirm", sa.String(20), nullable=False, server_default="dangerous"),
    created(),
    sa.UniqueConstraint("user_id", "name"),
)

# A group is a machine of kind `group`; its conversations are sessions there.
group_members = sa.Table(
    "group_members",
    records,
    key("group_id", "machines"),
    key("person_id", "persons"),
    sa.Column("position", sa.Integer, nullable=False),
)

# The session in which a person takes part in a group's conversation.
group_seats = sa.Table(
    "group_seats",
    records,
    key("session_id", "sessions"),
    key("person_id", "persons"),
    sa.Column("member_session_id", sa.String(36), nullable=False, unique=True),
    # of the group's log: what the person was told of; of its own: what came before its last turn
    sa.Column("heard_id", sa.BigInteger, nullable=False, default=0),
    sa.Column("copied_id", sa.BigInteger, nullable=False, default=0),
    created(),
)

# What a MyAgent connection was sent of a session, from its message `seq` on: runs of
# [seq, event_id, nth, count], and the place in the log before the first of them.
myagent_runs = sa.Table(
    "myagent_runs",
    records,
    sa.Column("connection_id", sa.String(36), primary_key=True),
    key("session_id", "sessions", index=True),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("user_id", sa.String(36), nullable=False, index=True),
    sa.Column("event_id", sa.BigInteger, nullable=False),
    sa.Column("skipped", sa.Integer, nullable=False),
    sa.Column("acked", sa.BigInteger),  # the newest message that the client has confirmed
    sa.Column("runs", sa.JSON, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False, index=True),
)

sa.Index("turns_open", turns.c.session_id, turns.c.state)
sa.Index("machines_instance", machines.c.user_id, machines.c.kind, machines.c.instance, unique=True)

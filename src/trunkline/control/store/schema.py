"""The tables of people, agents, machines and sessions, as SQLAlchemy Core. Times are Unix
milliseconds; JSON columns are objects.

Embedded, the records are a SQLite file of their own (the log's tables are in `log_schema`), so that
the log's constant commits and the records' transactions never wait for each other's write lock.
"""

import sqlalchemy as sa

from trunkline.control.store.columns import created, key, own_id, records, ref, unique_where

orgs = sa.Table(
    "orgs",
    records,
    own_id(),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("default_runtime_type", sa.String(40)),
    # by their names, those that differ from the server's (`control/quotas.py`)
    sa.Column("quotas", sa.JSON(none_as_null=True)),
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
    sa.Column("default_machine_id", sa.String(36)),  # for sessions that name none
    sa.Column("quotas", sa.JSON(none_as_null=True)),  # those that differ from the org's
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
    # what can be typed behind a slash there, as a Yeaft agent said last
    sa.Column("slash_commands", sa.JSON(none_as_null=True)),
    # the group chats that a Yeaft agent runs itself, as it listed them last
    sa.Column("group_chats", sa.JSON(none_as_null=True)),
    # what it calls itself, when it was found by its owner's secret
    sa.Column("instance", sa.String(200)),
    # its tokens that were issued before are revoked
    sa.Column("tokens_from", sa.BigInteger),
    # it is given no new sessions
    sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false()),
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

join_codes = sa.Table(
    "join_codes",
    records,
    sa.Column("hash", sa.String(64), primary_key=True),
    ref("user_id", "users"),
    ref("machine_id", "machines"),
    # the machine was made for it: it goes if nobody comes
    sa.Column("makes_machine", sa.Boolean, nullable=False),
    # the machine says what it is called
    sa.Column("names_itself", sa.Boolean, nullable=False),
    created(),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
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
    # user | message | model; null: untitled, or by what it was made of, or of before this was noted
    sa.Column("titled_by", sa.String(10)),
    sa.Column("runtime_type", sa.String(40), nullable=False),
    sa.Column("agent_config", sa.JSON, nullable=False),
    sa.Column("session_config", sa.JSON, nullable=False),
    sa.Column("openclaw_config", sa.JSON),
    sa.Column("status", sa.String(20), nullable=False),  # active | closed
    sa.Column("created_by", sa.String(36)),  # null: its own user
    sa.Column("pinned", sa.Boolean, nullable=False, default=False, server_default=sa.false()),
    sa.Column("archived", sa.Boolean, nullable=False, default=False, server_default=sa.false()),
    # of people and turns, not of records: what lists are in the order of
    sa.Column("last_activity_at", sa.BigInteger, nullable=False, default=0, server_default="0"),
    sa.Column("last_turn_status", sa.String(20)),  # completed | failed | cancelled
    sa.Column("last_turn_ended_at", sa.BigInteger),
    sa.Column("shown", sa.JSON),  # how its owner's page lists it: its place, its files …
    sa.Column("remote", sa.JSON),  # what its machine calls it, where that is not its id
    # the conversation of another program that it goes on with: machine, runtime, preset, id
    sa.Column("adopted", sa.String(500)),
    sa.Column("forked_from", sa.JSON),  # the session and its turn up to which it is a copy
    # of an imported one: the last event that is from elsewhere
    sa.Column("imported_id", sa.BigInteger),
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

unique_where(sessions, "sessions_adopted", "adopted", "status = 'active'")

# How long and how much of each log is kept; null: without a bound.
org_retention = sa.Table(
    "org_retention",
    records,
    key("org_id", "orgs"),
    sa.Column("days", sa.Integer),
    sa.Column("size_bytes", sa.BigInteger),
)
session_retention = sa.Table(
    "session_retention",
    records,
    key("session_id", "sessions"),
    sa.Column("days", sa.Integer),
    sa.Column("size_bytes", sa.BigInteger),
)

# Enough to look a title up without the rows, which are large.
sa.Index("sessions_named", sessions.c.org_id, sessions.c.user_id, sessions.c.title, sessions.c.id)
sa.Index("sessions_listed", sessions.c.pinned, sessions.c.last_activity_at, sessions.c.id)

# Sessions that are being removed for good. Written first, gone last: what a killed process has left
# undone is done at the next start. No foreign keys: their owners may be removed meanwhile.
erasures = sa.Table(
    "erasures",
    records,
    own_id(),
    sa.Column("org_id", sa.String(36), nullable=False),
    sa.Column("user_id", sa.String(36), nullable=False),  # whose it was
    sa.Column("erased_by", sa.String(36), nullable=False),
    created(),
)

# Sessions that were removed for good, by the machines that may have something of them still.
erased_copies = sa.Table(
    "erased_copies",
    records,
    sa.Column("session_id", sa.String(36), primary_key=True),
    key("machine_id", "machines", index=True),
    created(),
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
    # of the log: the message, and the end of the turn; null: of before this was noted
    sa.Column("said_id", sa.BigInteger),
    sa.Column("ended_id", sa.BigInteger),
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
    # of its models the one for sessions that name none; at most one of a user's rows has it
    sa.Column("default_model", sa.String(200)),
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

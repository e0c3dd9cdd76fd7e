"""The record tables, as SQLAlchemy Core. Times are Unix milliseconds; JSON columns are objects.

Embedded, they are a SQLite file of their own (the log's are in `log_schema`), so that the log's
constant commits and the records' transactions never wait for each other's write lock.
"""

import sqlalchemy as sa

records = sa.MetaData()


def _id() -> sa.Column[str]:
    return sa.Column("id", sa.String(36), primary_key=True)


def _key(name: str, target: str, *, index: bool = False) -> sa.Column[str]:
    """Part of the primary key, and gone with what it refers to."""
    rule = sa.ForeignKey(f"{target}.id", ondelete="CASCADE")
    return sa.Column(name, sa.String(36), rule, primary_key=True, index=index)


def _ref(name: str, target: str, *, nullable: bool = False, cascade: bool = True) -> sa.Column[str]:
    rule = "CASCADE" if cascade else "SET NULL"
    key = sa.ForeignKey(f"{target}.id", ondelete=rule)
    return sa.Column(name, sa.String(36), key, nullable=nullable or not cascade, index=True)


def _created() -> sa.Column[int]:
    return sa.Column("created_at", sa.BigInteger, nullable=False)


orgs = sa.Table(
    "orgs",
    records,
    _id(),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("default_runtime_type", sa.String(40)),
    sa.Column("auto_approve_evolutions", sa.Boolean, nullable=False, default=False),
    _created(),
)

users = sa.Table(
    "users",
    records,
    _id(),
    _ref("org_id", "orgs"),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("role", sa.String(20), nullable=False),  # member | org_admin | admin
    sa.Column("default_runtime_type", sa.String(40)),
    _created(),
)

tokens = sa.Table(
    "tokens",
    records,
    _id(),
    _ref("user_id", "users"),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),  # SHA-256 of the secret, hex
    sa.Column("kind", sa.String(20), nullable=False),  # bearer | cookie | login
    sa.Column("label", sa.String(200)),
    sa.Column("expires_at", sa.BigInteger),
    _created(),
)

agents = sa.Table(
    "agents",
    records,
    _id(),
    _ref("org_id", "orgs"),
    _ref("user_id", "users"),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("system_prompt", sa.Text),
    sa.Column("model", sa.String(200)),
    sa.Column("temperature", sa.Float),
    sa.Column("max_tokens", sa.Integer),
    sa.Column("tools", sa.JSON),
    sa.Column("confirm", sa.String(20), nullable=False),  # never | dangerous | always
    sa.Column("runtime_type", sa.String(40)),
    sa.Column("skills", sa.JSON),  # null: every skill of the org
    sa.Column("mcp_servers", sa.JSON),  # null: every server of the user and org
    sa.Column("sub_agents", sa.JSON),
    sa.Column("session_config", sa.JSON),
    sa.Column("openclaw_config", sa.JSON),
    sa.Column("agent_app", sa.String(60)),  # which app of a device runs it
    _created(),
)

machines = sa.Table(
    "machines",
    records,
    _id(),
    _ref("user_id", "users"),
    sa.Column("kind", sa.String(20), nullable=False),  # vm | agp | yeaft | group
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("provider", sa.String(20), nullable=False),  # manual | local
    # pending: scheduled, never seen; online; offline; failed: never came or cannot be kept up;
    # terminated: given up by its owner
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("detail", sa.Text),
    sa.Column("capabilities", sa.JSON, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger),
    _created(),
)

tickets = sa.Table(
    "tickets",
    records,
    sa.Column("hash", sa.String(64), primary_key=True),
    _ref("user_id", "users"),
    _ref("machine_id", "machines"),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),
)

sessions = sa.Table(
    "sessions",
    records,
    _id(),
    _ref("org_id", "orgs"),
    _ref("user_id", "users"),
    _ref("agent_id", "agents", cascade=False),
    _ref("machine_id", "machines", cascade=False),
    sa.Column("title", sa.String(200)),
    sa.Column("runtime_type", sa.String(40), nullable=False),
    sa.Column("agent_config", sa.JSON, nullable=False),
    sa.Column("session_config", sa.JSON, nullable=False),
    sa.Column("openclaw_config", sa.JSON),
    sa.Column("status", sa.String(20), nullable=False),  # active | closed
    sa.Column("remote", sa.JSON),  # what its machine calls it, where that is not its id
    sa.Column("left_machines", sa.JSON),  # ids of those that it was moved away from, oldest first
    # The projection: what the log says up to this event and this note. Null state: a session
    # whose records were written before there were projections.
    sa.Column("state", sa.LargeBinary),
    sa.Column("folded_id", sa.BigInteger, nullable=False, default=0, server_default="0"),
    sa.Column("folded_note", sa.BigInteger, nullable=False, default=0, server_default="0"),
    # closed, and its machine was not told yet
    sa.Column("unsettled", sa.Boolean, nullable=False, default=False, server_default=sa.false()),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    _created(),
)

turns = sa.Table(
    "turns",
    records,
    _id(),
    _ref("session_id", "sessions"),
    sa.Column("client_message_id", sa.String(200)),
    # queued: held for its machine; sent; completed; cancelled; failed
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("metadata", sa.JSON, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("finished_at", sa.BigInteger),
    _created(),
    sa.UniqueConstraint("session_id", "client_message_id"),
)

credentials = sa.Table(
    "credentials",
    records,
    _id(),
    _ref("user_id", "users"),
    sa.Column("provider", sa.String(60), nullable=False),
    sa.Column("sealed_key", sa.LargeBinary, nullable=False),
    sa.Column("base_url", sa.String(500)),
    _created(),
    sa.UniqueConstraint("user_id", "provider"),
)

skills = sa.Table(
    "skills",
    records,
    _id(),
    _ref("org_id", "orgs"),
    sa.Column("skill_id", sa.String(100), nullable=False),  # the slug that machines use
    sa.Column("version", sa.String(60), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("source", sa.String(20), nullable=False),  # upload | evolution
    sa.Column("file_inventory", sa.JSON, nullable=False),
    sa.Column("requires", sa.JSON, nullable=False),
    _created(),
    sa.UniqueConstraint("org_id", "skill_id", "version"),
)

skill_files = sa.Table(
    "skill_files",
    records,
    _key("skill", "skills"),
    sa.Column("path", sa.String(400), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

memories = sa.Table(
    "memories",
    records,
    _id(),
    _ref("org_id", "orgs"),
    _ref("user_id", "users", nullable=True),  # null: the whole org's
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("metadata", sa.JSON, nullable=False),
    sa.Column("embedding", sa.LargeBinary),  # float32, little endian; null without the model
    # Its row in SQLite's memories_fts, kept in step by triggers; random: never used twice.
    sa.Column("fts_rowid", sa.BigInteger, nullable=False, unique=True),
    _created(),
)

mcp_servers = sa.Table(
    "mcp_servers",
    records,
    _id(),
    _ref("org_id", "orgs"),
    _ref("user_id", "users", nullable=True),  # null: the whole org's
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("type", sa.String(20), nullable=False),  # remote | local
    sa.Column("url", sa.String(1000)),  # for people: without query and secrets
    sa.Column("sealed", sa.LargeBinary),  # remote: the whole URL and the headers
    sa.Column("command", sa.String(500)),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("timeout_s", sa.Float, nullable=False),
    _created(),
    sa.UniqueConstraint("org_id", "user_id", "name"),
)

usage = sa.Table(
    "usage",
    records,
    _id(),
    _ref("org_id", "orgs"),
    _ref("user_id", "users"),
    _ref("session_id", "sessions", cascade=False),
    sa.Column("model", sa.String(200), nullable=False),
    sa.Column("tokens_in", sa.BigInteger, nullable=False),
    sa.Column("tokens_out", sa.BigInteger, nullable=False),
    sa.Column("latency_ms", sa.Float),
    sa.Column("details", sa.JSON, nullable=False),
    _created(),
)

# No foreign keys: an audit entry outlives what it speaks of.
audit = sa.Table(
    "audit",
    records,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("org_id", sa.String(36), index=True),
    sa.Column("user_id", sa.String(36), index=True),
    sa.Column("session_id", sa.String(36)),
    sa.Column("event", sa.String(200), nullable=False),
    sa.Column("details", sa.Text, nullable=False),  # canonical JSON: it is what is hashed
    sa.Column("prev_hash", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)

# One row: the newest entry, sealed with the control plane's key. It shows that the newest entries
# were removed or that the chain was computed anew, and its row lock puts appends in one order.
audit_head = sa.Table(
    "audit_head",
    records,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("sealed", sa.LargeBinary),  # null until the first entry
)

evolutions = sa.Table(
    "evolutions",
    records,
    _id(),
    _ref("org_id", "orgs"),
    _ref("user_id", "users"),
    _ref("session_id", "sessions", cascade=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("skill_md", sa.Text, nullable=False),
    sa.Column("quality_score", sa.Float, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),  # pending | approved | rejected
    sa.Column("decided_by", sa.String(36)),
    sa.Column("decided_at", sa.BigInteger),
    sa.Column("skill", sa.String(36)),
    _created(),
)

snapshots = sa.Table(
    "snapshots",
    records,
    _id(),
    _ref("session_id", "sessions"),
    sa.Column("data", sa.JSON, nullable=False),
    _created(),
)

approvals = sa.Table(
    "approvals",
    records,
    _id(),
    _ref("session_id", "sessions"),
    _ref("user_id", "users"),
    # the machine's own id of the question
    sa.Column("request_id", sa.String(200), nullable=False, index=True),
    sa.Column("state", sa.String(20), nullable=False),  # pending | confirmed | denied
    sa.Column("request", sa.JSON, nullable=False),
    sa.Column("answer", sa.JSON),
    sa.Column("answered_by", sa.String(36)),
    sa.Column("answered_at", sa.BigInteger),
    _created(),
    sa.UniqueConstraint("session_id", "request_id"),
)

# Results of requests, kept per user: they outlive the line (docs/protocols/semibot.md#resume).
results = sa.Table(
    "results",
    records,
    _key("user_id", "users"),
    sa.Column("request_id", sa.String(200), primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),  # the entry of `resume_response`, encoded
    sa.Column("finished_at", sa.BigInteger, nullable=False, index=True),
)

# Reports that were taken, by the machine's own id of each: one that comes again changes nothing.
reports = sa.Table(
    "reports",
    records,
    _key("session_id", "sessions"),
    sa.Column("report_id", sa.String(100), primary_key=True),
    sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
)

machine_secrets = sa.Table(
    "machine_secrets",
    records,
    _key("machine_id", "machines"),
    sa.Column("guid", sa.String(128), unique=True),  # a device's own name for itself
    sa.Column("hash", sa.String(64), unique=True),  # SHA-256 of its secret, hex; null: none
    sa.Column("agent_apps", sa.JSON, nullable=False),
    _created(),
)

persons = sa.Table(
    "persons",
    records,
    _id(),
    _ref("user_id", "users"),
    sa.Column("name", sa.String(60), nullable=False),
    sa.Column("prompt", sa.Text, nullable=False),
    sa.Column("model", sa.String(200)),
    sa.Column("machine_id", sa.String(36)),
    sa.Column("runtime_type", sa.String(40)),
    _created(),
    sa.UniqueConstraint("user_id", "name"),
)

# A group is a machine of kind `group`; its conversations are sessions there.
group_members = sa.Table(
    "group_members",
    records,
    _key("group_id", "machines"),
    _key("person_id", "persons"),
    sa.Column("position", sa.Integer, nullable=False),
)

# The session in which a person takes part in a group's conversation.
group_seats = sa.Table(
    "group_seats",
    records,
    _key("session_id", "sessions"),
    _key("person_id", "persons"),
    sa.Column("member_session_id", sa.String(36), nullable=False, unique=True),
    # of the group's log: what the person was told of; of its own: what came before its last turn
    sa.Column("heard_id", sa.BigInteger, nullable=False, default=0),
    sa.Column("copied_id", sa.BigInteger, nullable=False, default=0),
    _created(),
)

# What a MyAgent connection was sent of a session, from its message `seq` on: runs of
# [seq, event_id, nth, count], and the place in the log before the first of them.
myagent_runs = sa.Table(
    "myagent_runs",
    records,
    sa.Column("connection_id", sa.String(36), primary_key=True),
    _key("session_id", "sessions", index=True),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("user_id", sa.String(36), nullable=False, index=True),
    sa.Column("event_id", sa.BigInteger, nullable=False),
    sa.Column("skipped", sa.Integer, nullable=False),
    sa.Column("acked", sa.BigInteger),  # the newest message that the client has confirmed
    sa.Column("runs", sa.JSON, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False, index=True),
)

# NULLs are distinct in a unique constraint, so an org's own servers need one of their own.
sa.Index(
    "mcp_servers_org_name",
    mcp_servers.c.org_id,
    mcp_servers.c.name,
    unique=True,
    sqlite_where=mcp_servers.c.user_id.is_(None),
    postgresql_where=mcp_servers.c.user_id.is_(None),
)
sa.Index("turns_open", turns.c.session_id, turns.c.state)

"""The record tables, as SQLAlchemy Core. Times are Unix milliseconds; JSON columns are objects.

`records` and `log` are two sets of metadata: embedded, each is a SQLite file of its own, so that
the log's constant commits and the records' transactions never wait for each other's write lock.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from trunkline.control.store import columns, wire_tables
from trunkline.control.store.columns import created, id_column, ref

records, log = columns.records, columns.log
machine_secrets, myagent_runs = wire_tables.machine_secrets, wire_tables.myagent_runs
persons = wire_tables.persons
group_members, group_seats = wire_tables.group_members, wire_tables.group_seats

orgs = Table(
    "orgs",
    records,
    id_column(),
    Column("name", String(200), nullable=False),
    Column("default_runtime_type", String(40)),
    Column("auto_approve_evolutions", Boolean, nullable=False, default=False),
    created(),
)

users = Table(
    "users",
    records,
    id_column(),
    ref("org_id", "orgs"),
    Column("name", String(200), nullable=False),
    Column("role", String(20), nullable=False),  # member | org_admin | admin
    Column("default_runtime_type", String(40)),
    created(),
)

tokens = Table(
    "tokens",
    records,
    id_column(),
    ref("user_id", "users"),
    Column("hash", String(64), nullable=False, unique=True),  # SHA-256 of the secret, hex
    Column("kind", String(20), nullable=False),  # bearer | cookie | login
    Column("label", String(200)),
    Column("expires_at", BigInteger),
    created(),
)

agents = Table(
    "agents",
    records,
    id_column(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    Column("name", String(200), nullable=False),
    Column("description", Text),
    Column("system_prompt", Text),
    Column("model", String(200)),
    Column("temperature", Float),
    Column("max_tokens", Integer),
    Column("tools", JSON),
    Column("confirm", String(20), nullable=False),  # never | dangerous | always
    Column("runtime_type", String(40)),
    Column("skills", JSON),  # null: every skill of the org
    Column("mcp_servers", JSON),  # null: every server of the user and org
    Column("sub_agents", JSON),
    Column("session_config", JSON),
    Column("openclaw_config", JSON),
    Column("agent_app", String(60)),  # which app of a device runs it
    created(),
)

machines = Table(
    "machines",
    records,
    id_column(),
    ref("user_id", "users"),
    Column("kind", String(20), nullable=False),  # vm | agp | yeaft | group
    Column("name", String(200), nullable=False),
    Column("provider", String(20), nullable=False),  # manual | local
    # pending: scheduled, never seen; online; offline; failed: never came or cannot be kept up;
    # terminated: given up by its owner
    Column("state", String(20), nullable=False),
    Column("detail", Text),
    Column("capabilities", JSON, nullable=False),
    Column("last_seen_at", BigInteger),
    created(),
)

tickets = Table(
    "tickets",
    records,
    Column("hash", String(64), primary_key=True),
    ref("user_id", "users"),
    ref("machine_id", "machines"),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)

sessions = Table(
    "sessions",
    records,
    id_column(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    ref("agent_id", "agents", cascade=False),
    ref("machine_id", "machines", cascade=False),
    Column("title", String(200)),
    Column("runtime_type", String(40), nullable=False),
    Column("agent_config", JSON, nullable=False),
    Column("session_config", JSON, nullable=False),
    Column("openclaw_config", JSON),
    Column("status", String(20), nullable=False),  # active | closed
    Column("remote", JSON),  # what its machine calls it, where that is not its id
    Column("left_machines", JSON),  # ids of those that it was moved away from, oldest first
    # The projection: what the log says up to this event and this note. Null state: a session
    # whose records were written before there were projections.
    Column("state", LargeBinary),
    Column("folded_id", BigInteger, nullable=False, default=0, server_default="0"),
    Column("folded_note", BigInteger, nullable=False, default=0, server_default="0"),
    # closed, and its machine was not told yet
    Column("unsettled", Boolean, nullable=False, default=False, server_default=false()),
    Column("updated_at", BigInteger, nullable=False),
    created(),
)

turns = Table(
    "turns",
    records,
    id_column(),
    ref("session_id", "sessions"),
    Column("client_message_id", String(200)),
    # queued: held for its machine; sent; completed; cancelled; failed
    Column("state", String(20), nullable=False),
    Column("message", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("answer", Text),
    Column("finished_at", BigInteger),
    created(),
    UniqueConstraint("session_id", "client_message_id"),
)

credentials = Table(
    "credentials",
    records,
    id_column(),
    ref("user_id", "users"),
    Column("provider", String(60), nullable=False),
    Column("sealed_key", LargeBinary, nullable=False),
    Column("base_url", String(500)),
    created(),
    UniqueConstraint("user_id", "provider"),
)

skills = Table(
    "skills",
    records,
    id_column(),
    ref("org_id", "orgs"),
    Column("skill_id", String(100), nullable=False),  # the slug that machines use
    Column("version", String(60), nullable=False),
    Column("name", String(200), nullable=False),
    Column("description", Text, nullable=False),
    Column("source", String(20), nullable=False),  # clawhub | upload | builtin | evolution
    Column("file_inventory", JSON, nullable=False),
    Column("requires", JSON, nullable=False),
    created(),
    UniqueConstraint("org_id", "skill_id", "version"),
)

skill_files = Table(
    "skill_files",
    records,
    Column("skill", String(36), ForeignKey("skills.id", ondelete="CASCADE"), primary_key=True),
    Column("path", String(400), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

memories = Table(
    "memories",
    records,
    id_column(),
    ref("org_id", "orgs"),
    ref("user_id", "users", nullable=True),  # null: the whole org's
    Column("content", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("embedding", LargeBinary),  # float32, little endian; null without the model
    # Its row in SQLite's memories_fts, kept in step by triggers; random: never used twice.
    Column("fts_rowid", BigInteger, nullable=False, unique=True),
    created(),
)

mcp_servers = Table(
    "mcp_servers",
    records,
    id_column(),
    ref("org_id", "orgs"),
    ref("user_id", "users", nullable=True),  # null: the whole org's
    Column("name", String(100), nullable=False),
    Column("type", String(20), nullable=False),  # remote | local
    Column("url", String(1000)),  # for people: without query and secrets
    Column("sealed", LargeBinary),  # remote: the whole URL and the headers
    Column("command", String(500)),
    Column("args", JSON, nullable=False),
    Column("timeout_s", Float, nullable=False),
    created(),
    UniqueConstraint("org_id", "user_id", "name"),
)

usage = Table(
    "usage",
    records,
    id_column(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    ref("session_id", "sessions", cascade=False),
    Column("model", String(200), nullable=False),
    Column("tokens_in", BigInteger, nullable=False),
    Column("tokens_out", BigInteger, nullable=False),
    Column("latency_ms", Float),
    Column("details", JSON, nullable=False),
    created(),
)

# No foreign keys: an audit entry outlives what it speaks of.
audit = Table(
    "audit",
    records,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("org_id", String(36), index=True),
    Column("user_id", String(36), index=True),
    Column("session_id", String(36)),
    Column("event", String(200), nullable=False),
    Column("details", Text, nullable=False),  # canonical JSON: it is what is hashed
    Column("prev_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

# One row: the newest entry, sealed with the control plane's key. It shows that the newest entries
# were removed or that the chain was computed anew, and its row lock puts appends in one order.
audit_head = Table(
    "audit_head",
    records,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    Column("sealed", LargeBinary),  # null until the first entry
)

evolutions = Table(
    "evolutions",
    records,
    id_column(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    ref("session_id", "sessions", cascade=False),
    Column("name", String(200), nullable=False),
    Column("description", Text, nullable=False),
    Column("skill_md", Text, nullable=False),
    Column("quality_score", Float, nullable=False),
    Column("state", String(20), nullable=False),  # pending | approved | rejected
    Column("decided_by", String(36)),
    Column("decided_at", BigInteger),
    Column("skill", String(36)),
    created(),
)

snapshots = Table(
    "snapshots",
    records,
    id_column(),
    ref("session_id", "sessions"),
    Column("data", JSON, nullable=False),
    created(),
)

approvals = Table(
    "approvals",
    records,
    id_column(),
    ref("session_id", "sessions"),
    ref("user_id", "users"),
    # the machine's own id of the question
    Column("request_id", String(200), nullable=False, index=True),
    Column("state", String(20), nullable=False),  # pending | confirmed | denied
    Column("request", JSON, nullable=False),
    Column("answer", JSON),
    Column("answered_by", String(36)),
    Column("answered_at", BigInteger),
    created(),
    UniqueConstraint("session_id", "request_id"),
)

# Results of requests, kept per user: they outlive the line (docs/protocols/semibot.md#resume).
results = Table(
    "results",
    records,
    Column("user_id", String(36), ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("request_id", String(200), primary_key=True),
    Column("body", LargeBinary, nullable=False),  # the entry of `resume_response`, encoded
    Column("finished_at", BigInteger, nullable=False, index=True),
)

# Reports that were taken, by the machine's own id of each: one that comes again changes nothing.
reports = Table(
    "reports",
    records,
    Column(
        "session_id", String(36), ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("report_id", String(100), primary_key=True),
    Column("created_at", BigInteger, nullable=False, index=True),
)

segments = Table(
    "segments",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("last_id", BigInteger, primary_key=True),
    Column("first_id", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("machine_seq", BigInteger),  # the machine's number of the last event, when it counts
    Column("body", LargeBinary, nullable=False),  # one event a line, UTF-8
    sqlite_with_rowid=False,  # one B-tree instead of two: half the pages a commit writes
)

# Facts among the events that readers are not shown, each committed with the events around it.
notes = Table(
    "notes",
    log,
    Column("session_id", String(36), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("after_id", BigInteger, nullable=False),  # the event that it stands behind
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

# NULLs are distinct in a unique constraint, so an org's own servers need one of their own.
Index(
    "mcp_servers_org_name",
    mcp_servers.c.org_id,
    mcp_servers.c.name,
    unique=True,
    sqlite_where=mcp_servers.c.user_id.is_(None),
    postgresql_where=mcp_servers.c.user_id.is_(None),
)
Index("turns_open", turns.c.session_id, turns.c.state)

"""The tables of the services that machines call and people look at, as SQLAlchemy Core."""

import sqlalchemy as sa

from trunkline.control.store.columns import created, key, own_id, records, ref, unique_where

skills = sa.Table(
    "skills",
    records,
    own_id(),
    ref("org_id", "orgs"),
    sa.Column("skill_id", sa.String(100), nullable=False),  # the slug that machines use
    sa.Column("version", sa.String(60), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("source", sa.String(20), nullable=False),  # upload | evolution
    sa.Column("file_inventory", sa.JSON, nullable=False),
    sa.Column("requires", sa.JSON, nullable=False),
    created(),
    sa.UniqueConstraint("org_id", "skill_id", "version"),
)

skill_files = sa.Table(
    "skill_files",
    records,
    key("skill", "skills"),
    sa.Column("path", sa.String(400), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

memories = sa.Table(
    "memories",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users", nullable=True),  # null: the whole org's
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("metadata", sa.JSON, nullable=False),
    # What the full text index holds: words, and pieces of scripts without spaces.
    sa.Column("terms", sa.Text, nullable=False),
    # The model whose vector is in the index of vectors; null: it has none yet.
    sa.Column("embedded_by", sa.String(32), index=True),
    # Its row in SQLite's indexes, kept in step by triggers; random: never used twice.
    sa.Column("fts_rowid", sa.BigInteger, nullable=False, unique=True),
    created(),
)

mcp_servers = sa.Table(
    "mcp_servers",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users", nullable=True),  # null: the whole org's
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("type", sa.String(20), nullable=False),  # remote | local
    sa.Column("url", sa.String(1000)),  # for people: without query and secrets
    sa.Column("sealed", sa.LargeBinary),  # remote: the whole URL and the headers
    sa.Column("command", sa.String(500)),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("timeout_s", sa.Float, nullable=False),
    # whether its word counts for which of its tools only read
    sa.Column("trust_hints", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    created(),
    sa.UniqueConstraint("org_id", "user_id", "name"),
)

# What sessions may do. A rule holds for the sessions that have every one of its ids that is set.
rules = sa.Table(
    "rules",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users", nullable=True),  # null: everyone's in the org
    ref("machine_id", "machines", nullable=True),
    ref("agent_id", "agents", nullable=True),
    ref("session_id", "sessions", nullable=True),
    sa.Column("effect", sa.String(10), nullable=False),  # deny | ask | allow
    sa.Column("rule", sa.String(1000), nullable=False),
    sa.Column("created_by", sa.String(36), nullable=False),
    created(),
)

# Browsers that are told when a session of their user needs them or is done.
push_subscriptions = sa.Table(
    "push_subscriptions",
    records,
    own_id(),
    ref("user_id", "users"),
    # the login that made it, with which it ends; null: the operator's fixed token
    sa.Column("token_id", sa.String(36), index=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("service", sa.String(300), nullable=False),  # the host that it is sent to
    sa.Column("endpoint_sha256", sa.String(64), nullable=False, unique=True),
    sa.Column("sealed", sa.LargeBinary, nullable=False),  # the endpoint and its keys
    sa.Column("kinds", sa.JSON, nullable=False),  # of needs_you, done
    sa.Column("quiet", sa.JSON(none_as_null=True)),  # from, to, time_zone
    sa.Column("problem", sa.String(300)),  # why the last message was not taken
    sa.Column("sent_at", sa.BigInteger),
    created(),
)

usage = sa.Table(
    "usage",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    ref("session_id", "sessions", cascade=False),
    sa.Column("model", sa.String(200), nullable=False),
    sa.Column("tokens_in", sa.BigInteger, nullable=False),
    sa.Column("tokens_out", sa.BigInteger, nullable=False),
    sa.Column("latency_ms", sa.Float),
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(3)),
    sa.Column("details", sa.JSON, nullable=False),
    created(),
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
    # control | machine: whose word it is; null: written before there was this column
    sa.Column("source", sa.String(20)),
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
    sa.Column("sealed", sa.LargeBinary),  # null before the first start
)

evolutions = sa.Table(
    "evolutions",
    records,
    own_id(),
    ref("org_id", "orgs"),
    ref("user_id", "users"),
    ref("session_id", "sessions", cascade=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("skill_md", sa.Text, nullable=False),
    sa.Column("quality_score", sa.Float, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),  # pending | approved | rejected
    sa.Column("decided_by", sa.String(36)),
    sa.Column("decided_at", sa.BigInteger),
    sa.Column("skill", sa.String(36)),
    created(),
)

snapshots = sa.Table(
    "snapshots",
    records,
    own_id(),
    ref("session_id", "sessions"),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0"),
    created(),
)

# Results of requests, kept per user: they outlive the line (docs/protocols/semibot.md#resume).
results = sa.Table(
    "results",
    records,
    key("user_id", "users"),
    sa.Column("request_id", sa.String(200), primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),  # the entry of `resume_response`, encoded
    sa.Column("finished_at", sa.BigInteger, nullable=False, index=True),
)

# Reports that were taken, by the machine's own id of each: one that comes again changes nothing.
reports = sa.Table(
    "reports",
    records,
    key("session_id", "sessions"),
    sa.Column("report_id", sa.String(100), primary_key=True),
    sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
)

# The sum of a user's bytes is asked for at each sync: never from the rows, which are large.
sa.Index("snapshots_bytes", snapshots.c.session_id, snapshots.c.bytes)

# NULLs are distinct in a unique constraint, so an org's own servers need one of their own.
unique_where(mcp_servers, "mcp_servers_org_name", "org_id, name", "user_id IS NULL")

"""The record tables of devices, agents, groups and MyAgent positions. Part of `schema`."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from trunkline.control.store.columns import created, id_column, records, ref

machine_secrets = Table(
    "machine_secrets",
    records,
    Column(
        "machine_id", String(36), ForeignKey("machines.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("guid", String(128), unique=True),  # a device's own name for itself
    Column("hash", String(64), unique=True),  # SHA-256 of its token or secret, hex; null: none
    Column("agent_apps", JSON, nullable=False),
    created(),
)

persons = Table(
    "persons",
    records,
    id_column(),
    ref("user_id", "users"),
    Column("name", String(60), nullable=False),
    Column("prompt", Text, nullable=False),
    Column("model", String(200)),
    Column("machine_id", String(36)),
    Column("runtime_type", String(40)),
    created(),
    UniqueConstraint("user_id", "name"),
)

# A group is a machine of kind `group`; its conversations are sessions there.
group_members = Table(
    "group_members",
    records,
    Column("group_id", String(36), ForeignKey("machines.id", ondelete="CASCADE"), primary_key=True),
    Column("person_id", String(36), ForeignKey("persons.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, nullable=False),
)

# The session in which a person takes part in a group's conversation.
group_seats = Table(
    "group_seats",
    records,
    Column(
        "session_id", String(36), ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("person_id", String(36), ForeignKey("persons.id", ondelete="CASCADE"), primary_key=True),
    Column("member_session_id", String(36), nullable=False, unique=True),
    # of the group's log: what the person was told of; of its own: what came before its last turn
    Column("heard_id", BigInteger, nullable=False, default=0),
    Column("copied_id", BigInteger, nullable=False, default=0),
    created(),
)

# What a MyAgent connection was sent of a session, from its message `seq` on: runs of
# [seq, event_id, nth, count], and the place in the log before the first of them.
myagent_runs = Table(
    "myagent_runs",
    records,
    Column("connection_id", String(36), primary_key=True),
    Column(
        "session_id",
        String(36),
        ForeignKey("sessions.id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
    Column("seq", BigInteger, primary_key=True),
    Column("user_id", String(36), nullable=False, index=True),
    Column("event_id", BigInteger, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("acked", BigInteger),  # the newest message that the client has confirmed; null: none
    Column("runs", JSON, nullable=False),
    Column("updated_at", BigInteger, nullable=False, index=True),
)

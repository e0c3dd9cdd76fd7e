"""How long this control plane waits, and how much it takes, where a test may want other values.

`Server` and `Core` hand it down to the parts that use it; the defaults are what runs. A bound that
nobody needs to vary stands in `limits.py`, or in the one file that uses it.
"""

import msgspec

from trunkline import limits


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. Seconds and bytes, as the names say."""

    # Work that is done again and again
    sweep_s: float = 1.0
    """Between two looks at everything that is due by the clock."""
    retry_s: float = 1.0
    """Before something that failed is tried again: a commit, a record, a session's start."""
    stall_s: float = 1.0
    """A commit that takes longer: machines are not read until it is done."""
    takeover_s: float = 10.0
    """At the start, for what another one was writing into a PostgreSQL database: then silent
    transactions are ended."""
    records_wait_s: float = 5.0
    """For the record of an event that was just shown."""
    drain_work_s: float = 3.0
    """At the end: for requests that are still being answered."""

    query_s: float = 20.0
    """For a machine's answer to what only it knows: it looks through files."""

    # Connections
    head_timeout_s: float = limits.HEAD_TIMEOUT_S
    keep_alive_s: float = limits.KEEP_ALIVE_S
    auth_timeout_s: float = 10.0
    """For the first frame of an execution plane."""
    yeaft_auth_timeout_s: float = limits.YEAFT_AUTH_TIMEOUT_S
    reader_heartbeat_s: float = limits.READER_HEARTBEAT_S
    myagent_heartbeat_s: float = 30.0
    """docs/protocols/myagent.md#connection: 60 s or less."""
    line_unsent_bytes_max: int = limits.LINE_UNSENT_BYTES_MAX
    """A machine that does not read is cut."""
    line_ahead_bytes_max: int = limits.MIB
    """Of a machine whose events are not counted: beyond, it is read when they are committed."""
    requests_max: int = limits.REQUESTS_IN_FLIGHT_MAX
    """Of one user's machines, under way."""
    myagent_sessions_max: int = limits.MYAGENT_SESSIONS_MAX
    """That one connection follows."""
    myagent_pieces_s: float = 0.075
    """Between two messages with pieces of an answer; what comes meanwhile is joined."""
    myagent_resume_s: float = 0.5
    """In which a client that broke off in mid-turn may say itself where it goes on."""
    myagent_departed_s: float = 300.0
    """In which the user's next connection goes on with what broke off in mid-turn."""
    yeaft_requests_bytes_max: int = limits.FRAME_BYTES_MAX
    """Of one web client that wait for an answer; then it is not read."""
    refusals_max: int = 600
    """Of one user in a minute that are audited; beyond, one entry says that there were more."""
    refused_logins_max: int = 20
    """In a minute, of everybody, that are audited one by one; beyond, they are counted."""

    # Sessions and turns
    start_timeout_s: float = limits.SESSION_START_TIMEOUT_S
    cancel_grace_s: float = 10.0
    """A machine that does not end a cancelled turn: it is ended here."""
    held_messages_max: int = limits.HELD_MESSAGES_MAX
    """That wait for one machine while it is away."""
    held_bytes_max: int = limits.HELD_BYTES_MAX
    """Of them together, in memory."""
    held_forwards_max: int = limits.HELD_FORWARDS_MAX
    """Of them, of what is passed on unread."""
    agp_returned_silence_s: float = limits.AGP_RETURNED_SILENCE_S
    """For the next word of a turn that an AGP device had before its line came back."""
    group_turn_events_max: int = 200_000
    """In which an open turn of a group is looked for after a restart."""

    tokens_per_user_max: int = 500
    """And so many login links. Browsers' logins come from these, or from a password. What else one
    user may have are `quotas`."""

    # The log
    ring_bytes_max: int = 16 * limits.MIB
    """A session with larger events replays fewer of them."""
    events_page_bytes_max: int = 16 * limits.MIB
    fold_bytes: int = 16 * limits.MIB
    """In the journal: then they are folded. A thousand busy sessions have some KiB each by then."""
    journal_bytes_max: int = 32 * limits.MIB
    """Beyond, commits wait for the fold: a start reads all of it."""
    fold_quiet_s: float = 1.0
    """In which nothing was said: then the journal is folded too."""
    fold_age_s: float = 30.0
    """After which it is folded though something is said all the time."""


DEFAULT = Tuning()

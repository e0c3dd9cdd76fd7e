"""Bounds that several files share or that a page documents. Units are last in the names.

A bound that one file uses stands in that file. Everything but `wire` may import this module; wire
code takes its bounds as arguments. What tests vary is in `control/tuning.py`. Where a number is a
protocol's, the comment names the page.
"""

MIB = 1024 * 1024
GIB = 1024 * MIB

# Lines of machines: docs/protocols/semibot.md#limits
FRAME_BYTES_MAX = 10 * MIB  # one frame, and one message put together from fragments
MESSAGES_PER_MINUTE_MAX = 1000  # then close 4029
AUTH_QUEUE_MAX = 64  # frames that may wait while a token is being checked
AUTH_FRAME_BYTES_MAX = 64 * 1024  # a frame before `init`
RESUME_GRACE_S = 1.0  # a machine that returns says `resume` before it is told anything
FORK_HISTORY_BYTES_MAX = 2 * MIB  # of a copied session: the newest turns that fit in its start
WORKTREE_TURNS_MAX = 1_000  # of a session, the newest: their files are kept, and copied by name
HISTORY_BYTES_MAX = 512 * 1024  # of a `user_message`: the newest turns that fit
HEARTBEAT_INTERVAL_S = 10.0
HEARTBEAT_SILENCE_S = 30.0  # three missed heartbeats: the line is dead, close 4008
CLOSE_GRACE_S = 2.0  # how long a peer may take to answer our close frame
LINE_UNSENT_BYTES_MAX = 32 * MIB  # a machine that does not read is cut
TICKET_LIFE_S = 30.0
VM_TOKEN_LIFE_S = 12 * 3600.0
JOIN_CODE_LIFE_S = 15 * 60.0
JOIN_CODES_PER_USER_MAX = 20  # that nobody has used yet
VM_TOKENS_RENEWED_PER_S = 20  # signing one takes a millisecond, and half a life is left for it
VM_TOKEN_CHARS_MAX = 8 * 1024  # ours have about 800; a huge one costs time before it is refused
HEALTH_BYTES_MAX = 16 * 1024  # what a machine's heartbeat says of itself
RESUME_WINDOW_S = 300.0  # results of requests that finished while the line was down
RESUME_IDS_MAX = 1000
BATCH_EVENTS_MAX = 10_000

# Requests of the execution plane
REQUEST_TIMEOUT_S = 60.0  # docs/protocols/semibot.md#errors-and-timeouts
QUESTION_BYTES_MAX = 256 * 1024  # that every client can show whole; a longer one is denied
REQUESTS_IN_FLIGHT_MAX = 256  # per line
MEMORY_TOP_K_MAX = 20
MEMORY_TOP_K_DEFAULT = 5
MEMORY_CONTENT_CHARS_MAX = 32_000
MEMORY_QUERY_CHARS_MAX = 4_000
SNAPSHOT_BYTES_MAX = 8 * MIB
METADATA_BYTES_MAX = 16 * 1024  # a memory's metadata, a usage report's details
TOKENS_MAX = 10**12  # in one usage report
REPORT_IDS_KEPT_S = 30 * 24 * 3600.0  # a machine that was away longer may report something twice

# Machines and messages
SESSION_START_TIMEOUT_S = 15.0
MACHINE_AWAY_S = 300.0  # a line that broke less than this ago is expected back
HELD_MESSAGES_MAX = 100  # per machine, while it is away
HELD_BYTES_MAX = 32 * MIB  # of them together, in memory
HELD_FORWARDS_MAX = 20  # of them, of what is passed on unread
VM_CONNECT_TIMEOUT_S = 60.0  # scheduled but not connected: failed
VM_QUICK_FAILURES_MAX = 8  # deaths of a local VM in a row, none after a stable time: failed
VM_START_FAILURES_MAX = 3  # the same of one that never connected: it cannot run here
VM_STABLE_S = 60.0  # online this long, a VM's next death counts as its first
VM_OUTPUT_LINE_CHARS_MAX = 2_000
VM_OUTPUT_LINE_BYTES_MAX = 32 * 1024  # a JSON log line with its traceback
VM_OUTPUT_FIELDS_MAX = 32  # of one JSON log line
VMS_PER_USER_MAX = 20
SESSION_LEFT_MACHINES_MAX = 20  # that a session was moved away from, the newest

# The log and its readers
RING_EVENTS = 500  # docs/protocols/events.md#server-sent-events
READER_HEARTBEAT_S = 15.0
READER_UNSENT_BYTES_MAX = 1 * MIB
READERS_PER_SESSION_MAX = 1000
STREAM_SESSIONS_MAX = 50  # that one stream of an account follows
STREAMS_PER_USER_MAX = 50  # one for each browser; for each tab where tabs cannot share
EVENTS_PAGE_MAX = 1000

# HTTP
HEAD_BYTES_MAX = 16 * 1024
HEAD_TIMEOUT_S = 10.0
KEEP_ALIVE_S = 20.0  # without a request; then the connection is closed
BODY_BYTES_MAX = 2 * MIB
UPLOAD_BYTES_MAX = 64 * MIB
PAGE_DEFAULT = 50
PAGE_MAX = 200
MESSAGE_CHARS_MAX = 1_000_000
NAME_CHARS_MAX = 200
TEXT_CHARS_MAX = 200_000
LOGIN_LINK_LIFE_S = 15 * 60.0
COOKIE_LIFE_S = 30 * 24 * 3600.0
JSON_DEPTH_MAX = 64  # nesting of a request's JSON
JSON_INT_MAX = 2**63 - 1  # what both databases and every JSON reader can hold

# Records
ID_CHARS_MAX = 100
NAMES_MAX = 200  # tools, skills, servers that one agent names
MODEL_TOKENS_MAX = 10_000_000
API_KEY_CHARS_MAX = 4_000
URL_CHARS_MAX = 500

# Skill packages
SKILL_FILES_MAX = 500
SKILL_FILE_BYTES_MAX = 5 * MIB
SKILL_PACKAGE_BYTES_MAX = 20 * MIB  # unpacked
SKILL_PATH_CHARS_MAX = 400
SKILL_PATH_DEPTH_MAX = 16
SKILL_REQUIRES_MAX = 50
SKILL_VERSIONS_SHOWN_MAX = 200  # of one skill
SKILL_INDEX_MAX = 500  # entries of one start_session

# MCP
MCP_TIMEOUT_S = 60.0
MCP_TIMEOUT_S_MAX = 600.0
MCP_CONNECT_TIMEOUT_S = 20.0  # TCP, TLS and the protocol's greeting
MCP_HEADER_CHARS_MAX = 8_000
MCP_ARGS_MAX = 100
MCP_SERVERS_MAX = 200  # of one user and org, in one start_session
MCP_ERROR_CHARS_MAX = 2_000

TOOL_RESULT_CHARS_MAX = 30_000  # what a model reads of a command's output, half from each end
TOOL_ERROR_CHARS_MAX = 500  # of one thing that is wrong with a call's arguments
COMMAND_TIMEOUT_S = 30.0  # CODE_EXECUTION_TIMEOUT
COMMAND_TIMEOUT_S_MAX = 600.0  # that a call may ask for, unless the agent's settings say otherwise
COMMAND_TIMEOUT_S_LIMIT = 24 * 3600.0  # that those may say
FILE_PATH_CHARS_MAX = 4_000
SESSION_FILE_PART_BYTES_MAX = 4 * MIB  # of a session's file that one request brings
ACP_WORDS_MAX = 100  # of the command that an agent of the runtime acp runs
NETWORK_HOSTS_MAX = 200  # that the commands of a session may reach
ACP_VARIABLES_MAX = 100
WEB_TIMEOUT_S = 20.0
WEB_BODY_BYTES_MAX = 4 * MIB  # as sent, and unpacked
WEB_URL_CHARS_MAX = 4_000
SKILL_DESCRIPTION_CHARS_MAX = 1_024  # in the index that every model call carries
MCP_TOOLS_OFFERED_MAX = 100  # of one server, in one session
TOOL_NAME_CHARS_MAX = 64  # what OpenAI and Anthropic take

MODEL_CALLS_PER_TURN = 50  # max_turns
MODEL_CALLS_PER_TURN_MAX = 1_000
TOOL_CALLS_PER_TURN = 10  # MAX_TOOL_CALLS_PER_TURN
TURN_TIMEOUT_S = 3600.0  # timeout_seconds; waiting for a person is not counted
APPROVAL_TIMEOUT_S = 300.0
ANSWER_CHARS_MAX = 32_000  # of a person, to one question
ANSWER_REASON_CHARS_MAX = 2_000  # why a person says yes or no
CONTEXT_TOKENS_MAX = 1_500_000  # of a conversation: about 6 MB, in every checkpoint
AUDIT_VALUE_CHARS_MAX = 1_000
AUDIT_ENTRIES_PER_HEAD = 100  # then its head is noted outside of the database
CANCEL_GRACE_S = 5.0  # for a tool or a stream that is being ended

CHECKPOINTS_KEPT = 10  # of each thread and namespace
CHECKPOINT_BYTES_MAX = 64 * MIB  # one state on disk, and one step's pending writes

NODE_SESSIONS_MAX = 20  # by default; the next one is refused
PROCESS_DRAIN_S = 1.0  # between a process's end and that of its socket, or the other way round
IPC_LINE_BYTES_MAX = FRAME_BYTES_MAX  # what is longer fits no frame either
SESSION_REQUESTS_MAX = 64  # of one process, under way
SNAPSHOT_INTERVAL_S = 60.0

MODEL_FIRST_BYTE_S = 300.0  # first_byte_timeout_seconds
MODEL_SILENCE_S = 120.0  # silence_timeout_seconds
MODEL_WAIT_S_MAX = 3600.0  # of either
MODEL_RETRY_DELAYS_S = (1.0, 2.0, 4.0)  # three times, on what is retryable

RECONNECT_DELAYS_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0)  # then the last, for ever
LINE_OPEN_TIMEOUT_S = 20.0  # TCP, TLS, upgrade and `init`
LINE_FLUSH_S = 2.0  # how long a line that is being closed may still be written to
EVENT_BYTES_MAX = 4 * MIB  # of one event as it travels; a larger one is cut
BATCH_BYTES_MAX = 1 * MIB
OUTBOX_COMPACT_BYTES = 256 * 1024  # a smaller file is not worth rewriting

LOG_VALUE_CHARS_MAX = 4_000  # of one value in a log line
DRAIN_TIMEOUT_S = 10.0

# The other wires
MYAGENT_FRAME_BYTES_MAX = 1 * MIB
MYAGENT_SESSIONS_MAX = 100  # that one connection follows
MYAGENT_STATE_LIFE_S = 7 * 24 * 3600.0
MYAGENT_STATE_MESSAGES_MAX = 100
MYAGENT_STATE_BYTES_MAX = 100 * 1024
MYAGENT_RUNS_KEPT_S = 7 * 24 * 3600.0  # how long a connection's positions can be returned to
MYAGENT_RUNS_SAVED_S = 0.2  # what a crash may repeat to a client that returns
MYAGENT_PAGE_RUNS = 200  # that one row has
MYAGENT_UNSENT_BYTES_MAX = 32 * MIB  # a page of missed events and what comes meanwhile
MYAGENT_WAITING_MAX = 32  # messages of a connection that wait; it is not read meanwhile
CONFIRM_TIMEOUT_S = 300.0  # a question without an answer means no
AGP_IDLE_S = 300.0  # without a message or a ping: docs/protocols/agp.md#limits
AGP_MSG_IDS_KEPT = 4096  # per device, against repeats
AGP_TURN_SILENCE_S = 600.0  # a connected device that says nothing of its turn: it has lost it
AGP_RETURNED_SILENCE_S = 90.0  # the same for a turn that it had before its line came back
AGP_FORGOTTEN_S = 3600.0  # a device that is away for so long, and for which nothing waits
AGENT_APP_CHARS_MAX = 60
YEAFT_AUTH_TIMEOUT_S = 30.0
YEAFT_CONVERSATIONS_MAX = 200  # that one web client follows
YEAFT_REQUESTS_MAX = 32  # of one web client that wait for an answer; then it is not read
YEAFT_FIELDS_BYTES_MAX = 256 * 1024  # of a web client's message that only its agent knows
YEAFT_SAID_MAX = 1_000  # messages that one web client said, and need not hear again
YEAFT_UNSENT_BYTES_MAX = 8 * MIB  # a web client that does not read is cut
SESSION_PROMPTS_MAX = 100  # that wait behind the active one
PICTURE_BYTES_MAX = 20 * MIB  # of one, as it comes
ATTACHMENTS_MAX = 20
ATTACHMENTS_BYTES_MAX = 8 * MIB  # of one message, in base64
PERSONS_PER_USER_MAX = 200
RULES_PER_USER_MAX = 500  # and of an organisation
GROUPS_PER_USER_MAX = 100
GROUP_PERSONS_MAX = 16  # `@all` addresses that many
GROUP_DEPTH_MAX = 30  # answers to answers
GROUP_HITS_MAX = 8  # of one person by others, within
GROUP_HITS_S = 5.0
GROUP_ASKS_MAX = 200  # persons asked in one turn, those that answers address too
GROUP_TURNS_MAX = 20  # of one conversation that are active at once
GROUP_NAME_CHARS_MAX = 60  # of a person or a group
GROUP_CONTEXT_CHARS_MAX = 24_000  # of what a person missed
GROUP_CONTEXT_TEXT_CHARS_MAX = 8_000  # of one thing that was said
GROUP_ANSWERS_CHARS_MAX = 500_000  # of the answers at a turn's end, together
GUID_CHARS_MAX = 128
DEVICES_PER_USER_MAX = 100  # of each kind
YEAFT_QUESTION_CHARS_MAX = 256 * 1024  # of one question of an agent, with all its options
YEAFT_FORWARDS_MAX = 100  # of one conversation, that wait for its agent's first answer
YEAFT_FORWARDS_CHARS_MAX = 32 * MIB  # of one agent's conversations together
YEAFT_REFUSED_IDS_MAX = 1_000  # that one line is told about once
YEAFT_OUTSIDE_WAITING_MAX = 1_000  # messages of an agent whose names are looked up
YEAFT_OUTSIDE_WAITING_CHARS_MAX = 32 * MIB  # of them together

WIRE_SESSIONS_KNOWN_MAX = 2_000  # whose streams are remembered

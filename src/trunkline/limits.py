"""Every bound of the system, in one place. Units are last in the names.

Everything but `wire` may import this module; wire code takes its bounds as arguments.
Where a number comes from a source document, the comment names the document and section.
"""

MIB = 1024 * 1024

# --- Lines (document 000) ---------------------------------------------------------------------
FRAME_BYTES_MAX = 10 * MIB  # 000 §9: one frame, and one message put together from fragments
MESSAGES_PER_MINUTE_MAX = 1000  # 000 §9, then close 4029
AUTH_TIMEOUT_S = 10.0  # first frame after the connection
AUTH_QUEUE_MAX = 64  # frames that may wait while a token is being checked
AUTH_FRAME_BYTES_MAX = 64 * 1024  # a frame before `init`
UNKNOWN_LINES_MAX = 1000  # lines that have not shown a good token yet
RESUME_GRACE_S = 1.0  # a machine that returns says `resume` before it is told anything
HISTORY_BYTES_MAX = 512 * 1024  # of a `user_message`: the newest turns that fit
HEARTBEAT_INTERVAL_S = 10.0  # 000 §4.1
HEARTBEAT_SILENCE_S = 30.0  # three missed heartbeats: the line is dead, close 4008
CLOSE_GRACE_S = 2.0  # how long a peer may take to answer our close frame
LINE_UNSENT_BYTES_MAX = 32 * MIB  # a machine that does not read is cut
TICKET_LIFE_S = 30.0  # 000 §9
VM_TOKEN_LIFE_S = 12 * 3600.0
VM_TOKENS_RENEWED_PER_S = 20  # signing one takes a millisecond, and half a life is left for it
VM_TOKEN_CHARS_MAX = 8 * 1024  # ours have about 800; a huge one costs time before it is refused
HEALTH_BYTES_MAX = 16 * 1024  # what a machine's heartbeat says of itself
RESUME_WINDOW_S = 300.0  # results of requests that finished while the line was down
RESUME_IDS_MAX = 1000
RESUME_RESULT_BYTES_MAX = FRAME_BYTES_MAX
BATCH_EVENTS_MAX = 10_000

# --- Requests of the execution plane ----------------------------------------------------------
REQUEST_TIMEOUT_S = 60.0  # 000 §8
REQUESTS_IN_FLIGHT_MAX = 256  # per line
MEMORY_TOP_K_MAX = 20
MEMORY_TOP_K_DEFAULT = 5
MEMORY_CONTENT_CHARS_MAX = 32_000
MEMORY_QUERY_CHARS_MAX = 4_000
SNAPSHOTS_KEPT = 3
SNAPSHOT_BYTES_MAX = 8 * MIB
EVOLUTION_AUTO_SCORE_MIN = 0.8
EVOLUTIONS_PENDING_MAX = 1000  # per org, waiting for a decision
MEMORY_SCAN_ROWS_MAX = 50_000  # embeddings compared in one search, the newest first
MEMORY_SCAN_CHUNK_ROWS = 2_000
MEMORY_SIMILARITY_MIN = 0.15  # cosine; below it, texts have nothing to do with each other
MEMORY_CANDIDATES = 100  # the best of each ranking that are merged
MEMORY_TERMS_MAX = 32  # search terms taken from one query
METADATA_BYTES_MAX = 16 * 1024  # a memory's metadata, a usage report's details
AUDIT_DETAILS_BYTES_MAX = 64 * 1024
AUDIT_VERIFY_CHUNK_ROWS = 1_000
TOKENS_MAX = 10**12  # in one usage report
REPORT_ID_CHARS_MAX = 100
REPORT_IDS_KEPT_S = 30 * 24 * 3600.0  # a machine that was away longer may report something twice

# --- Machines and messages --------------------------------------------------------------------
SESSION_START_TIMEOUT_S = 15.0
MACHINE_AWAY_S = 300.0  # a line that broke less than this ago is expected back
HELD_MESSAGES_MAX = 100  # per machine, while it is away
HELD_BYTES_MAX = 32 * MIB  # of them together, in memory
HELD_FORWARDS_MAX = 20  # of them, of what is passed on unread
VM_CONNECT_TIMEOUT_S = 60.0  # scheduled but not connected: failed
VM_RESTART_BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
VM_QUICK_FAILURES_MAX = 8  # deaths of a local VM in a row, none after a stable time: failed
VM_STABLE_S = 60.0  # online this long, a VM's next death counts as its first
VM_STOP_GRACE_S = 5.0  # between SIGTERM and SIGKILL
VM_OUTPUT_LINE_CHARS_MAX = 2_000
VM_OUTPUT_LINE_BYTES_MAX = 32 * 1024  # a JSON log line with its traceback
VM_OUTPUT_FIELDS_MAX = 32  # of one JSON log line
VM_OUTPUT_DRAIN_S = 1.0  # how long output is still read after a VM's process has ended
VMS_PER_USER_MAX = 20
SESSION_LEFT_MACHINES_MAX = 20  # that a session was moved away from, the newest

# --- The log and its readers ------------------------------------------------------------------
RING_EVENTS = 500  # 000 §7
RING_BYTES_MAX = 16 * MIB  # a session with larger events replays fewer of them
EVENTS_PAGE_BYTES_MAX = 16 * MIB
READER_HEARTBEAT_S = 15.0
READER_UNSENT_BYTES_MAX = 1 * MIB
READERS_PER_SESSION_MAX = 1000
EVENTS_PAGE_MAX = 1000
FEED_PRIME_EVENTS_MAX = 20_000  # of the turn under way, for a translation that begins in it
FEED_PRIME_BYTES_MAX = 16 * MIB  # the same
FEED_STEP_BYTES = 64 * 1024  # that are translated before everybody else has a turn
LOG_CACHE_BYTES_MAX = 16 * MIB  # of pages, for the largest transaction that is written in one go
LOG_CHECKPOINT_COMMITS = 250  # about 400 pages: little enough to be done in a millisecond
LOG_CHECKPOINT_BYTES = 16 * MIB
LOG_WAL_PAGES_MAX = 16_384  # 64 MiB

# --- HTTP -------------------------------------------------------------------------------------
HEAD_BYTES_MAX = 16 * 1024
HEAD_TIMEOUT_S = 10.0
BODY_BYTES_MAX = 2 * MIB
UPLOAD_BYTES_MAX = 64 * MIB
PAGE_DEFAULT = 50
PAGE_MAX = 200
MESSAGE_CHARS_MAX = 1_000_000
NAME_CHARS_MAX = 200
TEXT_CHARS_MAX = 200_000
LOGIN_LINK_LIFE_S = 15 * 60.0
COOKIE_LIFE_S = 30 * 24 * 3600.0
BODY_TIMEOUT_S = 60.0  # how long a request's body may take to arrive
JSON_DEPTH_MAX = 64  # nesting of a request's JSON
JSON_INT_MAX = 2**63 - 1  # what both databases and every JSON reader can hold
READY_TIMEOUT_S = 2.0  # a database that takes longer is not ready

# --- Records ----------------------------------------------------------------------------------
ID_CHARS_MAX = 100
NAMES_MAX = 200  # tools, skills, servers that one agent names
MODEL_TOKENS_MAX = 10_000_000
TOKEN_LIFE_S_MAX = 10 * 365 * 24 * 3600
API_KEY_CHARS_MAX = 4_000
URL_CHARS_MAX = 500
CREDENTIALS_PER_USER_MAX = 50

# --- Skill packages ---------------------------------------------------------------------------
SKILL_FILES_MAX = 500
SKILL_FILE_BYTES_MAX = 5 * MIB
SKILL_PACKAGE_BYTES_MAX = 20 * MIB  # unpacked
SKILL_WIRE_BYTES_MAX = 7 * MIB  # what fits one frame after base64
SKILL_ZIP_ENTRIES_MAX = 10_000  # directory records of an archive, before it is opened
SKILL_PATH_CHARS_MAX = 400
SKILL_PATH_DEPTH_MAX = 16
SKILL_FRONTMATTER_BYTES_MAX = 16 * 1024  # YAML is read by slow code
SKILL_FRONTMATTER_BRACKETS_MAX = 500  # nesting is where it is slowest
SKILL_REQUIRES_MAX = 50
SKILL_INDEX_MAX = 500  # entries of one start_session

# --- MCP --------------------------------------------------------------------------------------
MCP_TIMEOUT_S = 60.0
MCP_TIMEOUT_S_MAX = 600.0
MCP_IDLE_S = 300.0  # a pooled connection that nobody used
MCP_RESULT_BYTES_MAX = 8 * MIB
MCP_CONNECT_TIMEOUT_S = 20.0  # TCP, TLS and the protocol's greeting
MCP_CONNECTIONS_MAX = 200  # pooled, over all servers
MCP_HEADERS_MAX = 32
MCP_HEADER_CHARS_MAX = 8_000
MCP_ARGS_MAX = 100
MCP_SERVERS_MAX = 200  # of one user and org, in one start_session
MCP_ERROR_CHARS_MAX = 2_000
MCP_TOOLS_MAX = 1_000  # of one server, over all pages of its list

# --- The execution plane: tools, skills, local MCP servers ------------------------------------
TOOL_ARGUMENTS_BYTES_MAX = 12 * MIB  # of one call, as JSON
TOOL_RESULT_CHARS_MAX = 30_000  # what a model reads of a command's output, half from each end
TOOL_ERROR_CHARS_MAX = 500  # of one thing that is wrong with a call's arguments
TOOL_DETAILS_NAMED_MAX = 50  # names listed in a message for the model
COMMAND_TIMEOUT_S = 30.0  # 004 §11: CODE_EXECUTION_TIMEOUT
COMMAND_TIMEOUT_S_MAX = 600.0
COMMAND_CHARS_MAX = 100_000  # Linux takes 131,071 bytes in one argument
COMMAND_OUTPUT_BYTES_MAX = 64 * MIB  # read of one command, which is ended when it prints more
COMMAND_DRAIN_S = 0.5  # for output of a command that has ended, if something still holds the pipe
CODE_CHARS_MAX = 1_000_000
PROGRESS_INTERVAL_S = 0.1  # between two pieces of a running tool's output
PROGRESS_PIECE_CHARS_MAX = 4_000
PROGRESS_CHARS_MAX = 100_000  # of one call; the result holds both ends whatever was shown
FILE_BYTES_MAX = 10 * MIB  # read or written by a tool
FILE_READ_CHARS_MAX = 100_000  # shown of a file at once
FILE_READ_LINES = 2_000
FILE_PATH_CHARS_MAX = 4_000
LIST_ENTRIES_MAX = 1_000
LIST_SCAN_ENTRIES_MAX = 50_000
SEARCH_MATCHES_MAX = 200
SEARCH_LINE_CHARS_MAX = 300
SEARCH_OUTPUT_BYTES_MAX = 4 * MIB
WEB_TIMEOUT_S = 20.0
WEB_REDIRECTS_MAX = 5
WEB_BODY_BYTES_MAX = 4 * MIB  # as sent, and unpacked
WEB_TEXT_CHARS = 20_000
WEB_TEXT_CHARS_MAX = 100_000
WEB_URL_CHARS_MAX = 4_000
WEB_QUERY_CHARS_MAX = 400
WEB_RESULTS = 5
WEB_RESULTS_MAX = 20
WEB_SNIPPET_CHARS_MAX = 500
SKILL_DESCRIPTION_CHARS_MAX = 1_024  # in the index that every model call carries
SKILL_FILES_NAMED_MAX = 8  # in one line of the index
SKILL_READ_CHARS_MAX = 100_000
SKILL_VERSIONS_KEPT = 3  # of one skill, on one machine
SKILL_LOCK_WAIT_S = 90.0  # for another process that fetches the same skill
MCP_LINE_BYTES_MAX = 16 * MIB  # one message of a local server
MCP_STOP_GRACE_S = 1.0  # for a local server whose input was closed
MCP_SETTLE_S = 5.0  # how long a turn waits for servers that are still starting
MCP_TOOLS_OFFERED_MAX = 100  # of one server, in one session
MCP_TOOL_SCHEMA_BYTES_MAX = 16 * 1024
MCP_SCHEMAS_BYTES_MAX = 256 * 1024  # of one server's tools; every model call carries them
MCP_TOOL_DESCRIPTION_CHARS_MAX = 4_000
MCP_ENV_MAX = 100
MCP_LOG_LINES_MAX = 200  # of one local server's error output, until it is started again
TOOL_NAME_CHARS_MAX = 64  # what OpenAI and Anthropic take
TOOLS_MAX = 128  # in one model call; OpenAI takes no more

# --- The execution plane: turns of a session --------------------------------------------------
MODEL_CALLS_PER_TURN = 50  # 000 §5.2: max_turns
MODEL_CALLS_PER_TURN_MAX = 1_000
TOOL_CALLS_PER_TURN = 10  # 004 §11: MAX_TOOL_CALLS_PER_TURN
TOOL_CALLS_PER_TURN_MAX = 1_000
TURN_TIMEOUT_S = 3600.0  # 000 §5.2: timeout_seconds; waiting for a person is not counted
TURN_TIMEOUT_S_MAX = 24 * 3600.0
TURNS_QUEUED_MAX = 20  # messages that wait for the running turn
REPLANS_MAX = 5  # steps in a row of which every tool failed
DELEGATION_DEPTH_MAX = 2  # agents under the session's own
APPROVAL_TIMEOUT_S = 300.0
APPROVAL_TIMEOUT_S_MAX = 7 * 24 * 3600.0
APPROVAL_AGAIN_S = 5.0  # at least, for a question that is asked again after a restart
ANSWER_CHARS_MAX = 32_000  # of a person, to one question
QUESTION_OPTIONS_MAX = 20
CONVERSATION_CHARS_MAX = 400_000  # about 100,000 tokens; older turns are left out
CONVERSATION_MESSAGES_MAX = 1_000
MESSAGE_RESULT_CHARS_MAX = 110_000  # of one tool's result, whichever tool it was
EVENT_VALUE_CHARS_MAX = 20_000  # of one text in a tool's input, as readers see it
AUDIT_VALUE_CHARS_MAX = 1_000
MEMORY_WAIT_S = 2.0  # for long-term memories, before a turn goes on without
CANCEL_GRACE_S = 5.0  # for a tool or a stream that is being ended
IPC_UNSENT_BYTES_MAX = 1 * MIB  # then a session waits for the daemon to read
EVOLUTION_STEPS_MIN = 3  # successful tool calls that make a turn worth learning from

# --- The execution plane: memory and checkpoints ----------------------------------------------
CHECKPOINTS_KEPT = 10  # 004 §3.3: of each thread and namespace
CHECKPOINT_BYTES_MAX = 64 * MIB  # one state on disk, and one step's pending writes
CHECKPOINT_READABLE_BYTES_MAX = 1 * MIB  # a larger value is packed: nobody reads it as text
CHECKPOINT_NAMESPACES_MAX = 50  # of one thread: every run of a subgraph makes a new one
CHECKPOINT_NAME_CHARS_MAX = 2_000  # a thread's or a namespace's name
CHECKPOINT_SNAPSHOT_BYTES_MAX = 4 * MIB  # with the memory's parts below SNAPSHOT_BYTES_MAX
CONVERSATION_MESSAGE_CHARS_MAX = 1_000_000  # one section of conversation.md
CONVERSATION_READ_BYTES_MAX = 1 * MIB  # the newest that is read, and that a snapshot carries
SCRATCHPAD_CHARS_MAX = 200_000
CONTEXT_BYTES_MAX = 1 * MIB  # the whole of context.json
CONTEXT_KEY_CHARS_MAX = 200
CONTEXT_DEPTH_MAX = 64
FILE_LOCK_WAIT_S = 5.0  # another writer holds the lock for less than a millisecond
FILE_LOCK_POLL_S = 0.002

# --- The execution plane: the daemon and its sessions' processes ------------------------------
NODE_SESSIONS_MAX = 20  # by default; the next one is refused
NODE_SESSIONS_MAX_MAX = 1000
NODE_STOP_S = 10.0  # from SIGTERM to the end of the daemon
PROCESS_READY_S = 10.0  # from a process's start to its `ready`
PROCESS_PING_S = 5.0
PROCESS_PINGS_UNANSWERED_MAX = 6  # with the above: a process that is silent for 30 s hangs
PROCESS_STOP_GRACE_S = 4.0  # between `stop` and SIGKILL
PROCESS_DRAIN_S = 1.0  # between a process's end and that of its socket, or the other way round
PROCESS_REVIVALS_MAX = 3  # of a process that dies while its turn waits for a person
IPC_LINE_BYTES_MAX = FRAME_BYTES_MAX  # what is longer fits no frame either
IPC_UNREAD_BYTES_MAX = 4 * FRAME_BYTES_MAX  # a process that does not read its socket hangs
SOCKET_PATH_BYTES_MAX = 107  # sockaddr_un holds 108 with the final zero
FORK_SERVER_READY_S = 60.0  # imports on a slow machine
FORK_SERVER_ANSWER_S = 10.0  # for one fork; a server that takes longer is replaced
REHEARSAL_S_MAX = 10.0  # of a turn in the fork server; sessions work without it
FORK_SERVER_DELAYS_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # before each new try
SESSION_IDLE_S = 900.0  # without a turn: its process ends; the next message starts another
SESSION_ROOM_S = 60.0  # without a turn: it makes room for one that wants to start
SESSION_IDLE_CHECK_S = 30.0
SESSIONS_RESTING_MAX = 1_000  # without a process; those that rested longest are let go
SESSIONS_RETIRED_MAX = 1_000  # of those, the newest: a message brings one back
SESSION_START_TOLD_S = 3.0  # a start that takes longer is told to whoever waits
SESSION_INBOX_MAX = 100  # commands that wait for a session's process to be there
SESSION_REQUESTS_MAX = 64  # of one process, under way
SESSION_REFUSALS_MAX = 1000  # sessions that did not start and whose messages are answered
TURNS_REMEMBERED_MAX = 50  # ended turns of a session: one that comes again is known
SNAPSHOT_INTERVAL_S = 60.0  # 004 §5
HEALTH_INTERVAL_S = 60.0
HEALTH_CHECK_S = 5.0  # one program that is asked for its version

# --- The execution plane: models ---------------------------------------------------------------
MODEL_RETRY_DELAYS_S = (1.0, 2.0, 4.0)  # 004 §11: three times, on what is retryable
MODEL_RETRY_AFTER_S_MAX = 30.0  # a provider that asks for more is not asked again
MODEL_CONNECT_TIMEOUT_S = 10.0
MODEL_SILENCE_S = 600.0  # between two bytes: models that think in secret say nothing for minutes
MODEL_REFUSALS_MAX = 8  # parameters that one server may refuse before its answer counts
MODEL_REPLY_CHARS_MAX = 4_000_000  # text, thinking and arguments of one answer
MODEL_TOOL_CALLS_MAX = 64  # in one answer
MODEL_ARGUMENTS_CHARS_MAX = MIB  # of one tool call
MODEL_MALFORMED_CHARS = 2_000  # of broken arguments, shown to the model again
MODEL_ERROR_CHARS_MAX = 300  # of what a provider says about an error
MODEL_ANSWER_TOKENS = 16_384  # where a provider wants a number and the agent names none
LOCAL_MODEL_START_S = 60.0  # reading 100 MB from a slow disk
LOCAL_MODEL_IDLE_S = 600.0  # nobody asked for it: its memory is given back
LOCAL_MODEL_STOP_S = 3.0
LOCAL_MODEL_CONTEXT_TOKENS = 4_096
LOCAL_MODEL_PARALLEL = 2  # answers at once
LOCAL_MODEL_HISTORY_CHARS = 6_000  # newest messages; leaves room for the answer
LOCAL_MODEL_ANSWER_TOKENS = 512

# --- The execution plane: the line and its outbox ---------------------------------------------
RECONNECT_DELAYS_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0)  # 000 §6; then the last, for ever
RECONNECT_JITTER = 0.2  # of a delay, either way: machines of one outage do not return as one
LINE_REFUSED_DELAY_S = 60.0  # between attempts with a token that was refused
LINE_LIMITED_DELAY_S = 30.0  # at least, after close 4029
LINE_OPEN_TIMEOUT_S = 20.0  # TCP, TLS, upgrade and `init`
LINE_PING_S = 20.0  # of silence; half of it later without an answer, the line is dead
LINE_FLUSH_S = 2.0  # how long a line that is being closed may still be written to
LINE_LIVED_S = 3.0  # one that ends sooner was none: the next attempt waits longer
PACE_FRAMES_PER_S = 9.0  # with the burst 880 a minute: room for frames that a network held back
PACE_BURST_FRAMES = 340
PACE_GAP_S_MIN = 0.015  # between frames that nobody waits for
PACE_RESERVE = 0.4  # of the burst, kept for requests and the first words of a quiet session
SESSION_QUIET_S = 0.5  # without an event: the session's next one goes first
COALESCE_S = 0.07  # at most, before an event is on disk
JOINED_CHARS_MAX = 64 * 1024  # of one event put together from pieces of text
EVENT_BYTES_MAX = 4 * MIB  # of one event as it travels; a larger one is cut
EVENT_CUT_FIELDS_MAX = 100  # that are left of one
EVENT_CUT_NAME_CHARS_MAX = 100
EVENT_CUT_VALUE_BYTES_MAX = 1_000
EVENT_CUT_TEXT_CHARS = 20_000  # of what people read
BATCH_BYTES_MAX = 1 * MIB
OUTBOX_SESSION_BYTES_MAX = 8 * MIB
OUTBOX_BYTES_MAX = 64 * MIB  # events of all sessions
OUTBOX_COMPACT_BYTES = 256 * 1024  # a smaller file is not worth rewriting
OUTBOX_EARLY_EVENTS_MAX = 1_000  # before the first `init` says where numbers go on
OUTBOX_CLOSED_SESSIONS_MAX = 1_000  # whose numbers are kept, should they go on here
REPORTS_MAX = 10_000  # owed to the control plane
REPORTS_BYTES_MAX = 16 * MIB
REPORT_BYTES_MAX = 1 * MIB
REPORT_RETRY_S = 1.0  # after the control plane said that it is busy
REPORT_GAP_S = 0.25  # a report this long after the last one does not wait behind events
EARLY_MESSAGES_MAX = 20  # of a session that nobody handles yet
EARLY_SESSIONS_MAX = 100
LANE_MESSAGES_MAX = 1_000  # that wait for one session's handlers

# --- The client -------------------------------------------------------------------------------
CLIENT_TIMEOUT_S = 70.0  # a little more than the server's own limit for a request
CLIENT_STREAM_ATTEMPTS_MAX = 12  # in a row, without a single event: about half a minute
CLIENT_EVENT_BYTES_MAX = 2 * FRAME_BYTES_MAX

LOG_VALUE_CHARS_MAX = 4_000  # of one value in a log line
DRAIN_TIMEOUT_S = 10.0
DRAIN_WORK_S = 3.0  # requests of machines that are still being answered

# --- The other wires --------------------------------------------------------------------------
MYAGENT_FRAME_BYTES_MAX = 1 * MIB
MYAGENT_HEARTBEAT_S = 30.0  # "60 s or less"
MYAGENT_SESSIONS_MAX = 100  # that one connection follows
MYAGENT_STATE_LIFE_S = 7 * 24 * 3600.0
MYAGENT_STATE_MESSAGES_MAX = 100
MYAGENT_STATE_BYTES_MAX = 100 * 1024
MYAGENT_RUNS_KEPT_S = 7 * 24 * 3600.0  # how long a connection's positions can be returned to
MYAGENT_RUNS_SAVED_S = 0.2  # what a crash may repeat to a client that returns
MYAGENT_PAGE_RUNS = 200  # that one row has
MYAGENT_PAGES_MAX = 100  # of one session on one connection; without the older, more is repeated
MYAGENT_UNSAVED_PAGES_MAX = 200  # of a connection, until they are saved
MYAGENT_QUESTIONS_KEPT = 10_000  # of all sessions, whose own ids are known by those of the wire
MYAGENT_UNSENT_BYTES_MAX = 32 * MIB  # a page of missed events and what comes meanwhile
MYAGENT_WAITING_MAX = 32  # messages of a connection that wait; it is not read meanwhile
MYAGENT_TEXT_CHARS_MAX = 1_000_000  # of a turn's answer, put together from its pieces
QUESTION_RECORD_S = 5.0  # a question that was shown and whose record is not there yet
CONFIRM_TIMEOUT_S = 300.0  # a question without an answer means no
AGP_IDLE_S = 300.0  # 003: five minutes without a message or a ping
AGP_MSG_IDS_KEPT = 4096  # per device, against repeats
AGP_LOADED_SESSIONS_MAX = 100  # whose newest events are read for ids when a device first connects
AGP_LOADED_EVENTS_MAX = 500  # of each of them
AGP_STREAMED_CHARS_MAX = MESSAGE_CHARS_MAX  # of a turn, kept for an answer that repeats no text
AGP_TOOL_CALLS_KEPT = 1_000  # of a turn, whose names and ends are known
AGENT_APP_CHARS_MAX = 60
DEVICE_TOKEN_CHARS_MAX = 200
YEAFT_AUTH_TIMEOUT_S = 30.0
YEAFT_SILENCE_S = 180.0
YEAFT_RESUME_WAIT_S = 2.0  # for an answer to `resume_conversation`, which some agents do not give
YEAFT_CONVERSATIONS_MAX = 200  # that one web client follows
YEAFT_REQUESTS_MAX = 32  # of one web client that wait for an answer; then it is not read
YEAFT_REQUESTS_BYTES_MAX = FRAME_BYTES_MAX  # of them together; then it is not read either
YEAFT_FIELDS_BYTES_MAX = 256 * 1024  # of a web client's message that only its agent knows
YEAFT_HISTORY_EVENTS = 2_000  # the newest that a web client is shown when it comes back
YEAFT_HISTORY_BYTES_MAX = 2 * MIB
YEAFT_SAID_MAX = 1_000  # messages that one web client said, and need not hear again
YEAFT_UNSENT_BYTES_MAX = 8 * MIB  # a web client that does not read is cut
MACHINE_CANCEL_GRACE_S = 10.0  # a machine that does not end a cancelled turn: it is ended here
SESSION_PROMPTS_MAX = 100  # that wait behind the one at work
ATTACHMENTS_MAX = 20
ATTACHMENTS_BYTES_MAX = 8 * MIB  # of one message, in base64
PERSONS_PER_USER_MAX = 200
GROUPS_PER_USER_MAX = 100
GROUP_PERSONS_MAX = 16  # `@all` addresses that many
GROUP_DEPTH_MAX = 30  # answers to answers
GROUP_HITS_MAX = 8  # of one person by others, within
GROUP_HITS_S = 5.0
GROUP_ASKS_MAX = 200  # persons asked in one turn, those that answers address too
GROUP_TURNS_MAX = 20  # of one conversation at work at once
GROUP_NAME_CHARS_MAX = 60  # of a person or a group
GROUP_UNKNOWN_NAMED_MAX = 10  # names that nobody has, in one note
GROUP_CONTEXT_CHARS_MAX = 24_000  # of what a person missed
GROUP_CONTEXT_TEXT_CHARS_MAX = 8_000  # of one thing that was said
GROUP_CONTEXT_SAID_MAX = 200  # things said that are remembered
GROUP_CONTEXT_EVENTS_MAX = 5_000  # the newest, in which they are looked for
GROUP_TURN_EVENTS_MAX = 200_000  # in which an open turn is looked for after a restart
GROUP_ANSWERS_CHARS_MAX = 500_000  # of the answers at a turn's end, together
REFUSALS_AUDITED_PER_MINUTE_MAX = 600  # of one user; beyond, one entry says that there were more
GUID_CHARS_MAX = 128
DEVICES_PER_USER_MAX = 100  # of each kind
UNKNOWN_SOCKETS_MAX = 1000  # connections of a wire that have not shown who they are
YEAFT_ANSWER_CHARS_MAX = 1_000_000  # of a turn's text, for its end; the log has all of it
YEAFT_TOOLS_MAX = 1_000  # calls of one turn whose names are remembered
YEAFT_QUESTIONS_MAX = 1_000  # of one agent, that wait for a person
YEAFT_FORWARDS_MAX = 100  # of one conversation, that wait for its agent's first answer
YEAFT_REFUSED_IDS_MAX = 1_000  # that one line is told about once
YEAFT_CAPABILITIES_MAX = 100  # that one agent names
YEAFT_CAPABILITY_CHARS_MAX = 60
YEAFT_QUIET_S = 10.0  # an agent that says no more for so long has ended its turn, if it may have
YEAFT_OUTSIDE_WAITING_MAX = 1_000  # messages of an agent whose names are looked up

# --- Our machines on somebody else's server -----------------------------------------------------
WIRE_RECONNECT_DELAYS_S = (3.0, 4.5, 6.75, 10.125, 15.1875, 22.78125, 25.0)  # 3 s × 1.5ⁿ
WIRE_BEAT_S = 20.0  # between two signs of life in text
WIRE_CONFIRM_S = 0.05  # at least, between two pings that ask what has arrived
WIRE_OWED_MAX = 5_000  # messages that are not known to have arrived, and may be lost
WIRE_OWED_BYTES_MAX = 8 * MIB
WIRE_KEPT_MAX = 5_000  # those that may not, with the turns that will end in one
WIRE_KEPT_BYTES_MAX = 32 * MIB
WIRE_NOW_MAX = 1_000  # messages of use on this line only; a server that reads none of them is cut
WIRE_NOW_BYTES_MAX = 8 * MIB
WIRE_PROMPTS_CHARS_MAX = 64 * MIB  # of what was said to sessions, at work and waiting
WIRE_ANSWERS_MAX = 4_096  # of prompts that may come again, also after a restart
WIRE_ANSWERS_BYTES_MAX = 8 * MIB
WIRE_SESSIONS_KNOWN_MAX = 2_000  # whose streams are remembered
WIRE_QUESTIONS_MAX = 1_000  # whose answers are waited for
WIRE_BOUND_NAMES_MAX = 10_000  # conversations that go on in a session of another name
WIRE_HISTORY_SESSIONS_MAX = 200  # in one list, the newest
WIRE_AGENT_FILE_BYTES_MAX = 1 * MIB

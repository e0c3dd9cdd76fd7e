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

# --- Machines and messages --------------------------------------------------------------------
SESSION_START_TIMEOUT_S = 15.0
MACHINE_AWAY_S = 300.0  # a line that broke less than this ago is expected back
HELD_MESSAGES_MAX = 100  # per machine, while it is away
VM_CONNECT_TIMEOUT_S = 60.0  # scheduled but not connected: failed
VM_RESTART_BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
VM_QUICK_FAILURES_MAX = 8  # deaths of a local VM in a row, none after a stable time: failed
VM_STABLE_S = 60.0  # online this long, a VM's next death counts as its first
VM_STOP_GRACE_S = 5.0  # between SIGTERM and SIGKILL
VM_OUTPUT_LINE_CHARS_MAX = 2_000
VM_OUTPUT_DRAIN_S = 1.0  # how long output is still read after a VM's process has ended
VMS_PER_USER_MAX = 20

# --- The log and its readers ------------------------------------------------------------------
RING_EVENTS = 500  # 000 §7
RING_BYTES_MAX = 16 * MIB  # a session with larger events replays fewer of them
EVENTS_PAGE_BYTES_MAX = 16 * MIB
READER_HEARTBEAT_S = 15.0
READER_UNSENT_BYTES_MAX = 1 * MIB
READERS_PER_SESSION_MAX = 1000
EVENTS_PAGE_MAX = 1000
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

# --- The client -------------------------------------------------------------------------------
CLIENT_TIMEOUT_S = 70.0  # a little more than the server's own limit for a request
CLIENT_STREAM_ATTEMPTS_MAX = 12  # in a row, without a single event: about half a minute
CLIENT_EVENT_BYTES_MAX = 2 * FRAME_BYTES_MAX

LOG_VALUE_CHARS_MAX = 4_000  # of one value in a log line
DRAIN_TIMEOUT_S = 10.0
DRAIN_WORK_S = 3.0  # requests of machines that are still being answered

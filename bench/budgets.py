"""The numbers to reach and the sizes of each measurement, each with its reason.

Only the suite and the report read this module; the generator gets its numbers in commands.
A target is to be reached with the durable log on.
"""

# nchan is compiled C that keeps nothing durable. A relay in Python that commits every event
# before delivery only earns its place if batching more than pays for both.
RELAY_RATIO_TO_NCHAN_MIN = 3.0
# With ten readers the cost of a commit is shared ten ways and only the writes remain, which
# nchan makes one by one.
FANOUT_RATIO_TO_NCHAN_MIN = 8.0
# The other wires carry more bytes for the same words and are translated, so that any client can
# read any machine; that may cost as much again as the relay itself.
WIRE_RATIO_TO_SEMIBOT_MAX = 2.0
# A fast model makes a token every 5 to 10 ms; 3 ms of relay cannot be seen between two of them.
LATENCY_P99_MS_MAX = 3.0
# A thousand machines that each say a word at a time: nothing to batch for a relay, a call in and a
# call out for each event. What is stored, authenticated and replayable may cost a quarter of that.
CROWD_RATIO_TO_NCHAN_MIN = 0.75
# Beside that, PostgreSQL is a second program on the same core, and waits for the disk.
CROWD_POSTGRES_RATIO_TO_NCHAN_MIN = 0.6
# A commit of a thousand sessions and their thousand writes stand before the last of them. Less than
# one frame of a screen.
CROWD_LATENCY_P99_MS_MAX = 15.0
# A restart for an update: people see the page say that it is away, and that it is back.
HERD_S_MAX = 3.0
# What machines that only wait may cost the smallest server: 80 MiB for 5,000 of them.
IDLE_LINE_KIB_MAX = 16.0
# With a reader for each that is 200 MiB in all.
IDLE_READER_KIB_MAX = 24.0
# Ten thousand sessions, each made, used for one turn and closed, one after the other: from the
# first two thousand on, the server must not grow. The smallest thing that could be kept of each,
# its id in a dict, takes about 180 bytes, so 1.4 MiB over the other eight thousand; less than that
# is noise.
SESSIONS_GROWTH_MIB_MAX = 1.0
# A page that comes back after a broken connection shows the whole ring within one video frame.
REPLAY_MS_MAX = 5.0
# What a person sees first of a session, however long it is, within the next frame or two.
LAST_PAGE_MS_MAX = 20.0
# Whatever a killed server has left, its next start is over before people wonder. All of it counts,
# Python's own part too.
JOURNAL_START_MS_MAX = 1000.0
# Of a session that is kept for ever, notes and indexes included. A row for each session and commit
# took 22 KB for 9 KB of events.
DISK_RATIO_TO_EVENTS_MAX = 1.0
# A session saves its state after every step, before the next one counts as done. Readable files
# are only worth having if they cost no more than the database that LangGraph offers for this.
CHECKPOINT_RATIO_TO_SQLITE_MAX = 1.0

# A person who opens a session and types finds it ready; a fork of a warm process takes tens.
SESSION_START_MS_MAX = 100.0
# Twenty sessions, the daemon's default, then fit into 300 MiB beside what they share.
SESSION_MIB_MAX = 15.0
SESSION_MCP_MIB_MAX = 18.0  # the SDK is loaded, and a server's tools are known
# Nobody switches off what cannot be felt: a twentieth of a start, and less than a command's own.
FENCE_START_MS_MAX = 5.0
FENCE_COMMAND_MS_MAX = 3.0
# Two processes and a committed log between the model and the reader, still less than one token.
FIRST_WORD_MS_MAX = 10.0
# Behind a program that itself takes tens of milliseconds, less than two frames of a screen more.
RUNTIME_ADDED_MS_MAX = 30.0
# Checkpoints on disk, memory, approvals, events and a process boundary may cost half a turn more.
TURN_RATIO_TO_BARE_MAX = 1.5
# A turn waits for it before its first model call.
MEMORY_NEAREST_MS_MAX = 20.0
# A page that does not answer for longer feels stuck: the limit of what seems to happen at once.
PAGE_TASK_MS_MAX = 100.0
# A session says 60,000 pieces in that minute, about 0.4 MiB of text. It is kept once, with its rows
# 1.2 MiB; the first minute has a MiB of what the browser compiles besides. Kept twice, or with its
# events, it would be more.
PAGE_HEAP_MIB_MAX = 4.0
# Two seconds from the address to the last row, also on a phone that is a quarter as fast.
PAGE_OPEN_MS_MAX = 2000.0
# What is there within a sixth of a second seems to come with the key that asked for it; a program
# that takes longer for its help is not asked for it. Most of it is what the library of the options
# takes to load.
HELP_START_MS_MAX = 150.0
# A person who starts a chat begins to type at once: the prompt is there before the second letter.
CHAT_START_MS_MAX = 300.0

SESSIONS = 10  # one busy machine; more sessions change the batching little
FANOUT_READERS = 10  # per session: a team that follows one agent
# Events of one session that may be under way. Enough that no side waits for the generator, and
# less than a reader's 1 MiB of unsent bytes at about 80 bytes an event.
WINDOW_EVENTS = 4096
WIRE_WINDOW_EVENTS = 1024  # fewer: on the other wires an event has up to three times the bytes
# Rows of one event a session in one frame of our own daemon: at ten sessions 8,000 events and about
# a mebibyte, which is where the daemon ends a frame.
DAEMON_BATCH_ROWS = 800
DAEMON_GAP_S = 0.015  # between two frames, as the daemon's own pace has it
LATENCY_EVENTS_PER_S = 2_000  # twenty fast models at once
CROWD_LINES = 1_000
CROWD_LINES_PER_STEP = 25  # a ticket lives 30 s, and each of these has a user and a session made
CROWD_LATENCY_EVENTS_PER_S = 20_000  # twenty events a second of each, as models stream
SOAK_EVENTS_PER_S = 10_000  # over all of the crowd: a quarter of what it could say
HERD_LINES = 500
HERD_READERS_PER_LINE = 4  # a page, a phone and two colleagues
HERD_EVENTS = 20  # of each session, before the server is killed
HERD_MISSED_EVENTS = 5  # of these, that its readers have not seen when they come back
IDLE_CONNECTIONS = 5_000
IDLE_WARM_CONNECTIONS = 200  # opened before the first reading, so that set-up costs are not counted
IDLE_READERS_PER_SESSION = 10
IDLE_LINES_PER_STEP = 100  # a ticket lives 30 s; a step of lines is opened well within that
PASSED_SESSIONS = 10_000  # a year of a busy person
PASSED_TOGETHER = 500  # between two pauses
# Longer than what is said is left to wait for the fold: how much waits on a quick machine, some MiB
# of a bounded buffer, would otherwise be taken for what is kept of the sessions.
PASSED_PAUSE_S = 1.5
PASSED_SAMPLES = 10  # the lowest of so many, over the last twentieth, is what is resident
REPLAY_EVENTS = 500  # the ring of document 000 §7
REPLAY_PUBLISHED = 700  # more than the ring, so that a replay starts inside it
LONG_SESSION_EVENTS = 100_000  # days of work with an agent
LAST_PAGE_EVENTS = 1_000  # what the page asks for
COMMIT_SESSIONS = (10, 100, 1_000, 5_000)
COMMIT_EVENTS = 20_000  # at each of these sizes, at most so many commits' worth
COMMITS_MIN, COMMITS_MAX = 15, 100
DISK_SESSIONS = 20  # a database grows by pages; these share them
DISK_NOTE_CHARS = 1_400  # written into a file, about 9 KB of events
CHECKPOINT_MESSAGES_FIRST = 5  # a conversation as long as a question and its answer
CHECKPOINT_MESSAGES_LAST = 50  # and as long as an afternoon's work
CHECKPOINT_MESSAGE_CHARS = 400  # about what people and models write; tools write more

NODE_SESSIONS = 20  # the daemon's default
NODE_MEMORY_TURNS = 10  # by then a session has done what it does in every turn
NODE_TURNS = 30
NODE_FIRST_WORDS = 30
RUNTIME_WARM_TURNS = 10  # before those that count: these programs get quicker as they run
RUNTIME_TURNS = 15
MEMORIES = 100_000  # what one user may have
MEMORY_QUESTIONS_EVERY = 5  # of the table

ROUNDS = 5  # an odd number has a middle; five shows a spread
WARM_S = 1.0
LOAD_S = 3.0
DRAIN_QUIET_S = 5.0  # after this much silence, what has not arrived is lost
LATENCY_S = 4.0
# A virtual host takes its processor back for some milliseconds at times, and then every side's p99
# is the host's. A window this short has 500 events and, mostly, no such moment.
LATENCY_WINDOW_S = 0.25
REPLAY_TIMES = 60
IDLE_SETTLE_S = 2.0
SERVER_START_S_MAX = 30.0
SERVER_STOP_S_MAX = 15.0
COMMAND_S_MAX = 60.0  # no single command to the generator may take longer
IDLE_OPEN_S_MAX = 300.0  # all idle connections of one side; what is open by then is measured

FENCE_STARTS = 15  # with and without, by turns
FENCE_COMMANDS = 60

QUICK_ROUNDS = 1
QUICK_LOAD_S = 1.0
QUICK_LATENCY_S = 1.0
QUICK_CROWD_LINES = 200
QUICK_CROWD_LATENCY_EVENTS_PER_S = 2_000
QUICK_IDLE_CONNECTIONS = 500
QUICK_REPLAY_TIMES = 15
QUICK_PASSED_SESSIONS = 200

SERVER_CORE = 0
GENERATOR_CORE = 1
PAGE_EVENTS_PER_S = 1_000  # a fast model, five times over
PAGE_SESSIONS = 4  # that one browser follows at once
PAGE_WARM_S = 5.0  # the page has drawn all kinds of rows once
PAGE_LOAD_S = 60.0
PAGE_OPENED_EVENTS = 10_000
PAGE_OPENED_TURNS = 25  # a day's work with an agent
PAGE_SCROLL_STEPS = 150
STARTUP_RUNS = 20  # of each command, by turns

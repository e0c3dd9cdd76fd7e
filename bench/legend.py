"""How to read the results: what each side and each row is, for people who were not there.

Pure text, at the end of the page that `report.py` makes.
"""

from bench import budgets
from bench.results import Results


def legend(results: Results) -> str:
    lines = [
        "- **pass-through** is the generator's own ceiling: a peer that forwards raw bytes "
        "unread. Its latency is the floor of sockets, kernel and generator; what a side adds to "
        "it is the difference.",
        "- **nchan** has one worker, one publisher connection per session, no access log, no "
        f"pings, a buffer of {budgets.WINDOW_EVENTS:,} messages in memory, nothing durable. Its "
        "WebSocket publisher answers every message. **nchan, silenced** is the same with a "
        "publisher that also subscribes to an empty channel, which stops these answers: the "
        "fastest set-up found.",
        "- **trunkline** takes the wire as documented, one frame an event, with the rate limit of "
        "1000 messages a minute off. **trunkline, as its daemon sends** has the limit on and takes "
        "the path of our own daemon: events numbered (`seq`), "
        f"{budgets.DAEMON_BATCH_ROWS * budgets.SESSIONS:,} in one frame (`batch`), frames at least "
        f"{budgets.DAEMON_GAP_S * 1000:g} ms apart, acknowledged after each commit.",
        "- **aiohttp** receives the same frames as Trunkline and awaits one write per event and "
        "reader. In the crowd the same frames also go to **starlette** (on uvicorn with uvloop, a "
        "queue for each reader) and **node** (`ws` without compression, a `response.write` for "
        "each reader). None of them keeps anything.",
        f"- The **crowd** is {budgets.CROWD_LINES:,} machines of as many users, each with its own "
        "line, session and reader: a machine says its next event when the last is with its reader, "
        "so a commit carries at most one event of each. Every side has the server's core to "
        "itself. **trunkline, PostgreSQL** shares it with its database, which waits for the disk "
        "at each commit (`fsync` on); its share counts as the server's.",
        f"- The **herd**: {budgets.HERD_LINES} lines with a session and "
        f"{budgets.HERD_READERS_PER_LINE} readers each; the server is killed with `kill -9` and "
        "started again, and when it answers, all connections are opened at once. A line is back "
        "when its `resume` is answered, a reader when it has the "
        f"{budgets.HERD_MISSED_EVENTS} events that it missed; after that an event of each line "
        "must reach its readers. **on its processor** is what the server used of its core in that "
        "time; the pass-through, which was not away, what opening so many takes by itself.",
        "- **per busy second** divides by the share of its core that the server got: where other "
        "work shared the machine, it says more than the median beside it.",
        "- The **wires** run on one Trunkline server, in turn: **Semibot** is `sse_event` to SSE, "
        "**Yeaft** an agent's `claude_output` to Yeaft web clients, byte for byte, **AGP** a "
        "device's `session.update` to SSE. Each event has the same text; the second Yeaft row has "
        "the fields beside it that Claude Code writes, so that an event is read, and kept as it "
        "came, four times as large: no target is set for it. On AGP, which drops "
        "repeats, each has an id of its own.",
        f"- At most {budgets.WINDOW_EVENTS:,} events per session are under way, "
        f"{budgets.WIRE_WINDOW_EVENTS:,} where wires are compared. Only what "
        "arrived is counted; an event that Trunkline loses would make it miss its target.",
        f"- Idle memory is the growth of resident memory over {results.idle_connections:,} "
        f"connections after {budgets.IDLE_WARM_CONNECTIONS} to warm up; readers share a session "
        f"by {budgets.IDLE_READERS_PER_SESSION}, and what the server keeps per machine and "
        "session is included.",
        "- Latency runs from the write on the line to the read at the reader. Where the "
        "pass-through's p99 is milliseconds, the host was taking its processors back; the p99 of "
        "a typical quarter second is the median over such windows. Replay runs from the request "
        "to the last event.",
        "- A **commit** is one call of the log's store with one event of each session, as the log "
        "makes it in a crowd, and durable when it returns: SQLite as by default (safe against a "
        "killed process), PostgreSQL with `fsync`, here on a core of its own. The **fold** comes "
        "behind it, at leisure: all of those commits' events brought into the form in which they "
        "are kept.",
        f"- The **last page** is the newest {budgets.LAST_PAGE_EVENTS:,} events of "
        f"{budgets.LONG_SESSION_EVENTS:,}, on a new connection, from the request to the last of "
        "them; the server was killed and started again after they were written.",
        "- **Start after a kill**: from the start of the process to `/readyz`, with as much in the "
        "journal as the bound allows, and with nothing in it, which is what Python and all else "
        "take. The target is for the whole start with a full journal.",
        f"- What a session weighs: {budgets.DISK_SESSIONS} sessions of the demo with one turn, the "
        "bytes of their events beside what the log's file grew by when all was folded, notes and "
        f"indexes included. **help** is what the demo can do, **a note** has it write "
        f"{budgets.DISK_NOTE_CHARS:,} characters of prose into a file. With a row for each session "
        "and commit, as before there was a journal, the file took 22 KB for 9 KB of events.",
        "- Checkpoints: every saver is given the same calls, recorded from a real graph; a step "
        "is its `put` and the `put_writes` that follow it. **AsyncSqliteSaver** waits for the "
        "disk at each commit; Trunkline's files and **AsyncSqliteSaver, no fsync** survive a "
        "killed process, and a power cut may cost them the last steps. **InMemorySaver** keeps "
        "nothing.",
        "- Memories: the questions of `bench/memories/pairs.tsv`, each with the one memory that "
        "answers it, among all of the table's. Most share no word with it, and the built-in "
        "model knows words, not sentences. Beside 100,000 memories of one owner, **by meaning** "
        "is the query's vector and the index of vectors, **a whole search** full text too.",
        "- Runtimes: the program through the whole system, and by hand over its own protocol, "
        f"turn by turn, after {budgets.RUNTIME_WARM_TURNS} of each, with the same model. "
        "OpenClaw's gateway is one for all sessions of a machine, weighed with the process that "
        "guards it, and each session has a bridge; by hand it has neither of them, nor our "
        "plugin, which asks before tools. Two gateways differ by up to twice, here and by hand: "
        "read their rows by the spread.",
        "- Starts: each command by turns with `python -c pass`, the median of "
        f"{budgets.STARTUP_RUNS} in each round; a chat in a terminal, with a server and a machine.",
    ]
    if results.sessions_passed:
        lines.append(
            f"- Sessions that came and went: {results.sessions_passed:,}, each made, used for one "
            f"turn and closed before the next. After each {budgets.PASSED_TOGETHER} nothing is "
            "said for a moment, and the journal is folded. Resident memory is the lowest of "
            f"{budgets.PASSED_SAMPLES} looks over the twentieth before; its growth is counted from "
            "the first fifth to the last session."
        )
    lines += [f"- {note}" for note in results.notes]
    return "\n".join(lines)

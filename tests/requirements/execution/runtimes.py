"""Document 004 §4.1 to §4.3: the adapter in front of a runtime, and SemiGraph's."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-4.1-adapter-by-runtime-type",
        "The `runtime_type` of `start_session` chooses the session's adapter.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-4.1-keys-for-every-session",
        "Every session is given the API keys of `init`.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-4.1-runtimes-share-the-machine",
        "Sessions of both runtimes share the line, the files, the skills and the keys.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-4.1-readers-see-no-runtime",
        "Events look the same, whichever runtime made them.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-4.2-interface",
        "A runtime adapter has to have `start`, `send_message`, `cancel`, `stop` and"
        " `get_snapshot`.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-4.2-one-adapter-per-session",
        "Every session has an adapter of its own.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-4.3-start",
        "SemiGraph starts with the session's own memory, checkpoints and a graph made for its"
        " `agent_config`.",
        "execution.md#semigraph",
    ),
    Requirement(
        "004-4.3-message-is-remembered",
        "The user's message is in the conversation before the model is asked, and the answer after"
        " it.",
        "execution.md#semigraph",
    ),
    Requirement(
        "004-4.3-history",
        "A session without a past of its own asks the model with the `history` of its message.",
        "execution.md#semigraph",
        divergence="the session's own conversation is used where there is one, so that nothing"
        " is said twice",
    ),
    Requirement(
        "004-4.3-cancel-sends-a-snapshot",
        "A cancelled turn is followed by `snapshot_sync` with the state that was saved.",
        "execution.md#semigraph",
    ),
    Requirement(
        "004-4.3-cancel-event",
        "SemiGraph ends a cancelled turn with one `execution_complete` that has `cancelled: true`.",
        "execution.md#semigraph",
    ),
    Requirement(
        "004-4.3-goes-on-after-a-cancel",
        "The message after a cancel goes on from where the turn was interrupted.",
        "execution.md#semigraph",
    ),
    Requirement(
        "004-4.3-stop-sends-a-snapshot",
        "A session that stops sends a last `snapshot_sync`.",
        "execution.md#semigraph",
    ),
    Requirement(
        "004-4.3-snapshot-fields",
        "SemiGraph's snapshot has `checkpoint` and `short_term_memory`.",
        "execution.md#semigraph",
    ),
)

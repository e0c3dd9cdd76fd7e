"""Document 004 §3.2 and §3.3: short-term memory and checkpoints, as files of the session."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-3.2-files",
        "Short-term memory is `conversation.md`, `context.json` and `scratchpad.md` in `memory/` of"
        " the session's folder.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-conversation-format",
        "Every message is a paragraph `## [role] timestamp` with its text, appended in the order"
        " of time.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-conversation-empty",
        "The conversation of a session in which nothing was said is empty text.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-context-entries",
        "`context.json` holds a `value` and an `updated_at` for every key.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-context-read",
        "`get_context` gives one key's value, all values without a key, and None or nothing where"
        " there is none.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-scratchpad",
        "The scratchpad is written as a whole, read as it was written, and empty before.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-snapshot",
        "A snapshot of memory has `conversation`, `context` and `scratchpad`.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-readable",
        "A person can read the files as they are; other scripts than Latin stay as written.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-own-to-a-session",
        "A session's memory is its own: what one session keeps, another does not see.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.2-persistent",
        "Memory is there again after the process of the session was replaced.",
        "execution.md#short-term-memory",
    ),
    Requirement(
        "004-3.3-files",
        "Every checkpoint is a JSON file `checkpoints/{id}.json` of the session's folder.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-contents",
        "A checkpoint file holds the whole state, its time, its metadata and where it belongs.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-atomic",
        "A write that is interrupted leaves no half checkpoint: the one before it is the latest.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-ten-kept",
        "The ten newest checkpoints are kept and older ones are removed.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-latest",
        "The latest checkpoint is found again; without any there is None.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-snapshot",
        "A snapshot has the latest checkpoint.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-after-every-node",
        "A checkpoint is written after every node of the graph.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-resumes-a-turn",
        "A session whose process was killed in the middle of a turn goes on from its last"
        " checkpoint.",
        "execution.md#checkpoints",
    ),
    Requirement(
        "004-3.3-restored-from-a-snapshot",
        "A session that is started on a new machine goes on from the snapshot that the control"
        " plane kept.",
        "execution.md#checkpoints",
    ),
)

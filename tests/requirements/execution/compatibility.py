"""Document 004 §4.7 to §4.10: what runtimes have in common, and what happens when one fails."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-4.7-frontmatter-suffices",
        "A ClawHub package whose SKILL.md says only name and description is installed with an id"
        " made from the name and a version made from the time.",
        "execution.md#skill-packages",
    ),
    Requirement(
        "004-4.7-requires-of-the-package",
        "Binaries and environment variables that a package names in `metadata.requires` are those"
        " of its entry in the index.",
        "execution.md#skill-packages",
    ),
    Requirement(
        "004-4.7-whole-folder",
        "A skill is cached as the whole folder of its package, in its original structure.",
        "execution.md#skill-packages",
    ),
    Requirement(
        "004-4.7-scripts-by-bash",
        "A skill's scripts run by the `bash` tool, straight from the cached folder.",
        "execution.md#skill-packages",
    ),
    Requirement(
        "004-4.7-openclaw-loader",
        "OpenClaw loads skills from the same cache and asks for missing ones through the daemon.",
        "execution.md#skill-packages",
    ),
    Requirement(
        "004-4.8-semigraph-folder",
        "SemiGraph keeps short-term memory in `.semibot/sessions/{session_id}/memory/`.",
        "execution.md#memory-of-each-runtime",
    ),
    Requirement(
        "004-4.8-openclaw-folder",
        "OpenClaw keeps its memory in `.semibot/sessions/{session_id}/openclaw-memory/`.",
        "execution.md#memory-of-each-runtime",
    ),
    Requirement(
        "004-4.8-long-term-through-the-line",
        "Long-term memory is asked of the control plane by `memory_search`.",
        "execution.md#memory-of-each-runtime",
    ),
    Requirement(
        "004-4.9-priority",
        "The runtime is the session's, else the agent's, else the user's, else the"
        " organization's, else `semigraph`.",
        "execution.md#choosing-the-runtime",
    ),
    Requirement(
        "004-4.9-resolved-before-the-start",
        "The control plane decides it: `start_session` names the runtime, and the machine takes"
        " it as it is.",
        "execution.md#choosing-the-runtime",
    ),
    Requirement(
        "004-4.9-mixed-runtimes",
        "Sessions of one user can run on different runtimes at the same time.",
        "execution.md#choosing-the-runtime",
    ),
    Requirement(
        "004-4.10-crash-is-the-sessions-own",
        "A session process that crashes leaves every other session running.",
        "execution.md#failures",
    ),
    Requirement(
        "004-4.10-exit-is-reported",
        "A process that ends unasked in a turn is an `execution_error` of its session that says"
        " how it ended.",
        "execution.md#failures",
    ),
    Requirement(
        "004-4.10-no-fallback",
        "A runtime that cannot run here is an error of its session and never replaced by another.",
        "execution.md#failures",
    ),
    Requirement(
        "004-4.10-health-openclaw",
        "The machine's health says in `openclaw_available` whether Node.js and OpenClaw are there.",
        "execution.md#failures",
    ),
    Requirement(
        "004-4.10-bridge-crash",
        "A bridge that crashes harms its own session only.",
        "execution.md#failures",
    ),
)

"""Document 004 §5 and §6: the daemon from its start on, and where it keeps what."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-5-environment",
        "`USER_ID`, `VM_TOKEN`, `VM_TICKET` and `CONTROL_PLANE_WS` say whose machine this is and"
        " where its control plane is.",
        "execution.md#environment",
    ),
    Requirement(
        "004-5-environment-missing",
        "A daemon that is not told what it needs does not start and says what is missing.",
        "execution.md#environment",
    ),
    Requirement(
        "004-5-connects-and-serves",
        "The daemon connects, takes `init`, and from then on starts and stops sessions as it is"
        " told.",
        "execution.md#daemon",
    ),
    Requirement(
        "004-5-runs-until-stopped",
        "The daemon runs until it is told to end; then its sessions stop and no process is left.",
        "execution.md#daemon",
    ),
    Requirement(
        "004-5-snapshot-every-60-s",
        "Every 60 seconds the snapshot of each session that changed goes up as `snapshot_sync`.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-empty-snapshot-skipped",
        "A session with nothing to tell sends no snapshot.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-create-then-start",
        "Making an adapter runs nothing; its `start` brings the runtime up.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-5-start-config",
        "A session's runtime is given agent_config, skill_index, openclaw_config and the API keys.",
        "execution.md#runtime-adapter",
    ),
    Requirement(
        "004-5-runtime-type-default",
        "A `start_session` without `runtime_type` starts `semigraph`.",
        "execution.md#choosing-the-runtime",
    ),
    Requirement(
        "004-5-runtime-type-unknown",
        "An unknown `runtime_type` is refused with a message that names the lawful ones.",
        "execution.md#choosing-the-runtime",
    ),
    Requirement(
        "004-5-handlers-after-start",
        "A started session takes messages and cancels through its adapter.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-stop-session",
        "`stop_session` stops the session's runtime and takes its handlers away.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-stop-unknown-session",
        "A `stop_session` for a session that does not run does nothing.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-agent-config-reaches-the-model",
        "The model is asked with the agent's system_prompt, model, temperature and max_tokens.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-agent-tools",
        "An agent that names `tools` is offered these and no other built-in ones.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-max-turns",
        "A turn asks the model at most `max_turns` times.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-timeout-seconds",
        "A turn that takes longer than `timeout_seconds` is ended.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-5-sub-agents",
        "An agent with `sub_agents` can delegate to them.",
        "execution.md#sessions",
    ),
    Requirement(
        "004-6-layout",
        "The home has `.semibot/config.json`, `.semibot/sessions/`, `.semibot/skills/` and"
        " `workspace/`.",
        "execution.md#files",
        divergence="the home is the folder that the daemon is given; the document has one path",
    ),
    Requirement(
        "004-6-config-json",
        "`config.json` holds the machine's settings, such as its user, and no secret.",
        "execution.md#files",
    ),
    Requirement(
        "004-6-files-are-shared",
        "All sessions read and write the same files of the workspace.",
        "execution.md#files",
    ),
    Requirement(
        "004-6-sessions-are-apart",
        "Each session's memory and checkpoints are in a folder of its own.",
        "execution.md#files",
    ),
    Requirement(
        "004-6-skills-are-shared",
        "A skill is fetched once and used by all sessions, also when several ask at once.",
        "execution.md#files",
    ),
    Requirement(
        "004-6-workspace-stays",
        "The user's files stay when a session ends and when the daemon is started again.",
        "execution.md#files",
    ),
    Requirement(
        "004-6-session-cleanup",
        "Cleaning up after a session touches `.semibot/sessions/{session_id}/` and nothing else.",
        "execution.md#files",
    ),
)

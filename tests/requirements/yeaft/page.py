"""The field notes on Yeaft, second round: what its deployed page needs in order to work."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-3-page-login-mode",
        "`GET /api/auth/mode` says `skipAuth`, `emailVerification`, `totpEnabled`,"
        " `registrationEnabled`, `aadEnabled` (all false) and `ssoProviders: {}`.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-login",
        "`POST /api/auth/login {username, password}` is answered with `{success, token,"
        " sessionKey: null, role, userId}`.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-login-token",
        "The password of a login may be a bearer token of that user.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-profile",
        "`GET /api/user/profile` gives `{username, role, userId}` or 401; `/api/version` and"
        " `/api/auth/logout` are answered.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-errors",
        "Errors of these routes are `{success: false, error}` with the text.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-cookie",
        "A login sets the cookie `yeaft_session`, which is a login by itself.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-sso-complete",
        "The page takes a token from `/#/sso-complete?token=…` and uses it like one of a login.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-agent-secret",
        "`/api/user/agent-secret` shows the user's own secret for agents.",
        "yeaft.md#login-over-http",
    ),
    Requirement(
        "notes-3-page-upload",
        "`/api/upload` gives `fileIds`, by which a message names files.",
        "yeaft.md#attachments",
    ),
    Requirement(
        "notes-3-catalog-key",
        "`sync_messages_result` has `catalogKey`, `chat:` and the conversation's id.",
        "yeaft.md#catalog",
    ),
    Requirement(
        "notes-3-catalog",
        "Every `agent_list` is followed by `session_catalog_snapshot` with rows of the listed"
        " fields, whose `runtimeProvider` is `claude-code` or `copilot` and nothing else.",
        "yeaft.md#catalog",
    ),
    Requirement(
        "notes-3-inventory-complete",
        "`auth_result` has `yeaftSessionInventoryComplete: true`.",
        "yeaft.md#web-handshake",
    ),
    Requirement(
        "notes-3-hydrate",
        "`get_agents {requestId}` is answered with `yeaft_session_hydrate` for each agent and"
        " `yeaft_session_hydrate_complete {requestId, ok: true}`.",
        "yeaft.md#catalog",
    ),
    Requirement(
        "notes-3-session-list-authoritative",
        "A relayed `session_list_updated` has `projectsAuthoritative: true`.",
        "yeaft.md#catalog",
    ),
    Requirement(
        "notes-3-question-restored",
        "A question that waits is restored from its row's `metadata` (`askRequestId`,"
        " `askQuestions`, `askAnswered`, `selectedAnswers`), and asked again on"
        " `select_conversation` and `sync_messages`.",
        "yeaft.md#questions",
    ),
    Requirement(
        "notes-3-workbench",
        "`role` is `admin` or `pro` and `client_hello_ack` has `workbenchRouteProtocol: 1`, so"
        " that the page shows its workbench.",
        "yeaft.md#workbench",
    ),
    Requirement(
        "notes-3-page-titles",
        "A conversation has its first message as title until it is renamed.",
        "yeaft.md#catalog",
    ),
    Requirement(
        "notes-3-slash-commands-shown",
        "`agent_selected.slashCommands` has what an agent takes behind a slash.",
        "yeaft.md#answers-to-web-clients",
    ),
    Requirement(
        "notes-3-ui-metadata",
        "`pin_session`, `set_session_ui_metadata`, `reorder_session_catalog` and"
        " `restore_file_tabs` are answered, and kept.",
        "yeaft.md#catalog",
    ),
    Requirement(
        "notes-3-row-times",
        "Rows of an agent's words have their time.",
        "yeaft.md#answers-to-web-clients",
    ),
)

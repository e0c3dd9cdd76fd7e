"""What the gateway keeps between its runs: sessions that are gone are removed from it, and turns
that ended with its last run are over for it too.

By itself it goes on with every turn that was interrupted: with nobody who reads it, or could be
asked. It has no setting for that, so its records are changed while it does not run.
"""

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import structlog

from trunkline.execution.runtimes.openclaw.config import agent_id

_log = structlog.get_logger(__name__)

_OVER = """
UPDATE session_nodes SET status = 'killed', entry_json = json_remove(
  json_set(entry_json, '$.status', 'killed', '$.abortedLastRun', json('false')),
  '$.restartRecoveryRuns', '$.mainRestartRecovery')
WHERE status = 'running'
"""


def tidy(state: Path, sessions: Iterable[str]) -> None:
    """Before a start. `sessions`: those that there still are."""
    kept = {agent_id(one) for one in sessions}
    for folder in (state / "agents").glob("s-*"):
        if folder.name in kept:
            _end_turns(folder / "agent" / "openclaw-agent.sqlite")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _end_turns(file: Path) -> None:
    if not file.is_file():
        return
    try:
        with closing(sqlite3.connect(file, timeout=1.0)) as database, database:
            database.execute(_OVER)
    except sqlite3.Error as error:
        # Another version of it may keep them otherwise; then it does as it likes.
        _log.warning("interrupted turns of openclaw may go on", problem=str(error))

"""A runtime whose program is driven from Python: what all of those have in common."""

from typing import Final

HOSTED: Final[dict[str, str]] = {}
"""Every one of them, by the name that `start_session` uses: what the fork server runs."""

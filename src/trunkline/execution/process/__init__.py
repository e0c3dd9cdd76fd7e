"""Processes: how they start, who belongs to whom, how they end. Knows nothing of sessions."""

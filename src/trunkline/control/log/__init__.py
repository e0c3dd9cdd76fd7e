"""The session log: events, segments on disk, feeds."""

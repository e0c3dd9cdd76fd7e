"""A session's events as text of a terminal: text in, text out, no I/O."""

"""The execution plane: a daemon beside its user's files, and one process per session."""

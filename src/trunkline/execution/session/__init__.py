"""Sessions: who runs them, and the socket between the daemon and a session's process."""

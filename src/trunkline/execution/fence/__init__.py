"""What keeps a session to its own place on a machine: Landlock, seccomp, limits, a proxy."""

"""What ends a command: exit code 1 and one line on stderr that says what to do."""


class CommandFailed(Exception):
    """The command could not do its work; its text is for the person at the terminal."""

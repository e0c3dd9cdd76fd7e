"""The command line. May import everything; imports what is slow only where a command needs it."""

"""Server-sent events: readers of one session, and one stream for all that an account follows."""

"""A session's short-term memory."""

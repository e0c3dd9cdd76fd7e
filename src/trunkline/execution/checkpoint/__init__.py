"""A session's LangGraph state on disk."""

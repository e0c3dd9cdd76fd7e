"""Pictures of a conversation: scaled, kept in the session's folder, shown to models that see."""

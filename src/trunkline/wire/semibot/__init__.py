"""The Semibot wire: one WebSocket per VM, every session on it (source document 000)."""

"""The Semibot wire: one WebSocket per VM, every session on it (docs/protocols/semibot.md)."""

"""The AGP wire: one WebSocket per device, prompts down, updates and answers up
(docs/protocols/agp.md)."""

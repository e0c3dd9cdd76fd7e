"""Source document 002, the Yeaft wire, by its headings.

The headings have no numbers; here they are counted: 1 principles, 2 the envelope, 3 directions,
4 wire types (4.1 from clients, 4.2 from agents, 4.3 `data`), 5 providers (5.1 Claude Code,
5.2 Copilot, 5.3 Yeaft), 6 yeaft_session_chat, 7 ask-user, 8 lifecycle, 9 the server's part,
10 session pin, 11 heartbeat and buffers, 12 debugging, 13 files, and the note on compatibility.
"""

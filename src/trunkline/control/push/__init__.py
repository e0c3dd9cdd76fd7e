"""Web Push: browsers are told when a session needs its user or is done (docs/guide/push.md).

Knows the store, the records' news and one HTTP client; the REST API calls it, nothing waits for it.
"""

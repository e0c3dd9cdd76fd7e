"""The load generator: a process of its own on a core of its own, raw sockets and one epoll loop.

It knows WebSocket frames and SSE bytes, not what is being measured; `bench.commands` is its wire.
It parses nothing while it measures: events are counted by one marker byte.
"""

"""The one port: reads each connection's first request and hands it to whoever speaks it."""

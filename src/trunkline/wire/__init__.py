"""What travels: messages, codecs, connection state machines, translations. No I/O, no clocks.

Imports nothing else of ours, so that every protocol can be read, tested and reused alone.
"""

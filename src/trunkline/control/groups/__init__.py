"""Group chat: persons that answer together, each in a session of its own.

A group is a machine of kind `group`; `Coordinator` is its line. Everything here uses sessions as
any client does and knows no edge.
"""

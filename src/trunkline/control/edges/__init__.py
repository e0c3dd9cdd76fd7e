"""The code that speaks one protocol on one kind of connection.

Machine edges write the log, client edges read it; no edge knows another.
"""

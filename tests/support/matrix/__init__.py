"""One interface for clients and one for machines, whatever protocol they speak.

`clients` holds REST + SSE, MyAgent and Yeaft web clients, `machines` the execution plane, Yeaft
agents and AGP devices; each written from its document, as raw JSON on a real socket.
"""

"""The benchmark suite: `python -m bench` runs the relay side by side with its peers.

`sides/` starts what is measured, `generator/` makes the load, `suite` says in which order.
Nothing here is imported by the product; it talks to it over loopback sockets alone.
"""

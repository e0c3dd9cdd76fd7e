"""A seeded simulation of the control plane's core: `python -m tests.simulation --help`.

The real core, log and projections run on stores in memory, in virtual time, against scripted
machines and clients. One number decides everything that happens.
"""

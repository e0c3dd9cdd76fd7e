"""What is measured: Trunkline and its peers, each behind the same small interface (`base.Side`).

A side knows how to start its server and how its lines and streams are addressed, nothing about
measuring. The programs of peers that are ours live in `bench/peers/`.
"""

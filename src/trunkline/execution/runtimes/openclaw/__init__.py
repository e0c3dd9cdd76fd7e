"""The OpenClaw runtime: a bridge for each session, and the one gateway that they all talk to."""

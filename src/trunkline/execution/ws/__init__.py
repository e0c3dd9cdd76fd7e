"""The line to the control plane, and what is owed to it while it is down."""

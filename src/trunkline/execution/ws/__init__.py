"""The line to the control plane, and what waits for it on disk while it is down."""

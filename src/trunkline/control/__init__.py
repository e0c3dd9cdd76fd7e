"""The control plane: records, routing, session logs, credentials, approvals."""

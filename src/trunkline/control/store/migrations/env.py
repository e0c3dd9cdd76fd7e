"""Alembic's entry point. The connection is given by `store.migrate`; nothing runs offline."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()

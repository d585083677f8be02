"""The ``dagbook`` command: starts components, keeps the database, tells how the engine does."""

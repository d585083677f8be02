"""A private PostgreSQL: one per home folder, shared by all of its user's processes, gone when the last one leaves.

A detached keeper process owns the server.  Whoever uses it holds a lease: an open connection to the keeper's
socket, which the kernel closes however its holder ends.
"""

from dagbook.store.embedded.lease import EmbeddedDatabase, open_embedded

__all__ = ["EmbeddedDatabase", "open_embedded"]

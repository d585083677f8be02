"""Every table, its checks and its indexes; each index is named for the question it answers."""

from dagbook.store.tables import datasets, runs, settings
from dagbook.store.tables.base import SCHEMA, metadata

__all__ = ["SCHEMA", "datasets", "metadata", "runs", "settings"]

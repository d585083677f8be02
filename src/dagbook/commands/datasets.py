"""News of datasets from outside: by hand, or from a producer that isn't a DAG."""

from __future__ import annotations

import json
from typing import Any

from dagbook.errors import Invalid
from dagbook.store import datasets
from dagbook.store.datasets import NewEvent
from dagbook.store.work import Work

#: Bytes of an event's extra as JSON.
_LONGEST_EXTRA = 64 * 1024


def post_event(work: Work, uri: str, extra: dict[str, Any]) -> int:
    """A new state of ``uri``; DAGs that wait for it hear of it in the same transaction.  The event's number."""
    if not uri.strip() or not uri.isprintable() or len(uri) > 1500:
        raise Invalid(f"uri must have 1 to 1500 characters that can be printed, not {uri[:60]!r}")
    if len(json.dumps(extra)) > _LONGEST_EXTRA:
        raise Invalid(f"extra has more than {_LONGEST_EXTRA} bytes; keep the data itself elsewhere and name its place")
    return datasets.put(work, [NewEvent(uri, extra)])[0]

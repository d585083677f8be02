"""DAG specs to canonical JSON and back, and the digest that names a version."""

from __future__ import annotations

import hashlib

import msgspec

from dagbook.spec.models import DagSource, DagSpec

FORMAT = 1


class _Document(msgspec.Struct, frozen=True):
    format: int
    dag: DagSpec


def encode(spec: DagSpec) -> bytes:
    """Canonical JSON: sorted keys, so equal specs give equal bytes."""
    return msgspec.json.encode(_Document(FORMAT, spec), order="sorted")


def decode(data: bytes | str) -> DagSpec:
    """Raise ``msgspec.ValidationError`` naming the field when ``data`` is no spec of a known format."""
    document = msgspec.json.decode(data, type=_Document)
    if document.format != FORMAT:
        raise msgspec.ValidationError(f"DAG format {document.format} is not known; this Dagbook reads {FORMAT}")
    return document.dag


def digest(spec: DagSpec, source: DagSource) -> str:
    """The version's name: 32 hex digits over the structure and the module text."""
    h = hashlib.sha256(encode(spec))
    h.update(b"\0")
    h.update(source.text.encode())
    return h.hexdigest()[:32]

"""Read models: rows become the shapes of ``wire.rest``."""

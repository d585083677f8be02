"""A cell and the part of its notebook that it needs, as one self-contained module."""

from dagbook.notebook.slicing.cells import Cell, History
from dagbook.notebook.slicing.slice import DagOptions, slice_cell

__all__ = ["Cell", "DagOptions", "History", "slice_cell"]

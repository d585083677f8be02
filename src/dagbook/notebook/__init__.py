"""Dagbook inside a notebook: magics, slicing, live views.  Reaches the engine only through ``client``."""

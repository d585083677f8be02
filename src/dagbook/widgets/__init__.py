"""What a notebook's output shows: the live view of a run, and its last picture."""

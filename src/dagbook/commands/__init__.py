"""One function per thing a user wants done; each runs inside the unit of work that it is given."""

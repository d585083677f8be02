"""Every scheduling decision, as pure functions of a snapshot and a time."""

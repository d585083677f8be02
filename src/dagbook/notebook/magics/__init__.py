"""``%dag`` and ``%%dag``: one module per sub-command."""

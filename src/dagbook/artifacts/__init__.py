"""What tasks leave behind: encoded values, previews, log files."""

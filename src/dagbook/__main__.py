"""``python -m dagbook``."""

from dagbook.cli.main import main

main()

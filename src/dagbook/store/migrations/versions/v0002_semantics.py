"""Branches, limits, deadlines, callbacks, datasets as schedules."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.get_bind().exec_driver_sql((Path(__file__).parent.parent / "0002_semantics.sql").read_text())

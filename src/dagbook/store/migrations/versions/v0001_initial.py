"""The first schema."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.get_bind().exec_driver_sql((Path(__file__).parent.parent / "0001_initial.sql").read_text())

"""What authors' own timetables have said comes next."""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.get_bind().exec_driver_sql((Path(__file__).parent.parent / "0004_timetables.sql").read_text())

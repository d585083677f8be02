"""The only code that speaks SQL.  PostgreSQL 15+, schema ``dagbook``."""

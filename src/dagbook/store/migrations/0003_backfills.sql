ALTER TABLE dagbook.backfill ADD COLUMN is_cancelled BOOLEAN DEFAULT false NOT NULL;

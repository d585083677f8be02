ALTER TABLE dagbook.dag
    ADD COLUMN upcoming JSONB,
    ADD COLUMN upcoming_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN ask_timetable_at TIMESTAMP WITH TIME ZONE;
CREATE INDEX dag_ask_timetable ON dagbook.dag (ask_timetable_at) WHERE ask_timetable_at IS NOT NULL AND is_active AND NOT is_draft;

CREATE TABLE cleanup_runs (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT cleanup_runs_pkey PRIMARY KEY,
    started_at TIMESTAMPTZ NOT NULL DEFAULT statement_timestamp(),
    finished_at TIMESTAMPTZ,
    trigger TEXT NOT NULL,
    expired BIGINT NOT NULL DEFAULT 0,
    purged BIGINT NOT NULL DEFAULT 0,
    ip_scrubbed BIGINT NOT NULL DEFAULT 0,
    events_purged BIGINT NOT NULL DEFAULT 0,
    complete BOOLEAN NOT NULL DEFAULT false,
    error TEXT,
    CONSTRAINT cleanup_runs_trigger_known CHECK (trigger IN ('http', 'schedule', 'cli'))
);

-- Serves the claim of a scheduled run, the list of past runs, and their retention.
CREATE INDEX idx_cleanup_runs_started_at ON cleanup_runs (started_at);

COMMENT ON TABLE cleanup_runs IS 'One row is one run of the cleanup.';
COMMENT ON COLUMN cleanup_runs.id IS 'Order of starting.';
COMMENT ON COLUMN cleanup_runs.started_at IS 'When the run began.';
COMMENT ON COLUMN cleanup_runs.finished_at IS 'When it ended; NULL while it runs, or where it was killed.';
COMMENT ON COLUMN cleanup_runs.trigger IS 'What started it: http, schedule or cli.';
COMMENT ON COLUMN cleanup_runs.expired IS 'Sessions marked as expired.';
COMMENT ON COLUMN cleanup_runs.purged IS 'Ended sessions deleted.';
COMMENT ON COLUMN cleanup_runs.ip_scrubbed IS 'Addresses forgotten, in sessions and in the ledger.';
COMMENT ON COLUMN cleanup_runs.events_purged IS 'Events deleted from the ledger.';
COMMENT ON COLUMN cleanup_runs.complete IS 'False where the time budget ran out before everything was done.';
COMMENT ON COLUMN cleanup_runs.error IS 'What stopped the run, if something did.';

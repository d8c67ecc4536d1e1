CREATE TABLE login_throttle (
    key TEXT CONSTRAINT login_throttle_pkey PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_failure_at TIMESTAMPTZ NOT NULL,
    blocked_until TIMESTAMPTZ NOT NULL
);

-- Serves the removal of counters that nobody needs any more.
CREATE INDEX idx_login_throttle_last_failure_at ON login_throttle (last_failure_at);

COMMENT ON TABLE login_throttle IS 'Recent failed password checks, shared by all instances.';
COMMENT ON COLUMN login_throttle.key IS 'Hex SHA-256 of what is counted: an e-mail with a coarse address, or an address alone.';
COMMENT ON COLUMN login_throttle.failures IS 'Failures since the last success.';
COMMENT ON COLUMN login_throttle.last_failure_at IS 'When the last one was.';
COMMENT ON COLUMN login_throttle.blocked_until IS 'Until when further attempts are refused.';

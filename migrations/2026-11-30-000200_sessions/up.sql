CREATE TABLE sessions (
    id UUID CONSTRAINT sessions_pkey PRIMARY KEY,
    user_id BIGINT NOT NULL CONSTRAINT sessions_user_id_fkey REFERENCES users (id),
    session_hash TEXT NOT NULL,
    device_label TEXT,
    ip_address INET,
    user_agent_hash TEXT,
    auth_level TEXT NOT NULL DEFAULT 'password',
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    last_seen_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    expires_at TIMESTAMPTZ NOT NULL,
    revoked_at TIMESTAMPTZ,
    revoked_reason TEXT,
    absolute_expires_at TIMESTAMPTZ NOT NULL,
    idle_timeout INTERVAL NOT NULL,
    authenticated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    remember_me BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT sessions_session_hash_form CHECK (length(session_hash) = 64),
    CONSTRAINT sessions_auth_level_known CHECK (auth_level IN ('password', 'mfa')),
    CONSTRAINT sessions_ending_whole CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL)),
    CONSTRAINT sessions_revoked_reason_known CHECK (revoked_reason IN (
        'user_logout', 'logout_all', 'logout_others', 'device_revoked', 'password_changed', 'expired',
        'superseded', 'session_limit', 'admin_revoked', 'user_disabled', 'user_deleted', 'service_revoked')),
    CONSTRAINT sessions_deadline_capped CHECK (expires_at <= absolute_expires_at),
    CONSTRAINT sessions_idle_timeout_positive CHECK (idle_timeout > INTERVAL '0 seconds')
) WITH (fillfactor = 90); -- room for HOT updates of last_seen_at

-- Serves every check of a presented token, and log-out by token.
CREATE UNIQUE INDEX idx_sessions_session_hash ON sessions (session_hash);

-- Serves a user's devices, the cap, and endings of all of a user's sessions.
CREATE INDEX idx_sessions_user_active ON sessions (user_id, revoked_at, expires_at);

-- Serves cleanup's first step. Partial: over ended rows every batch would walk past those it
-- had ended before.
CREATE INDEX idx_sessions_expires_at ON sessions (expires_at) WHERE revoked_at IS NULL;

-- Serves the purge of ended rows.
CREATE INDEX idx_sessions_ended_at ON sessions (least(expires_at, revoked_at)) WHERE revoked_at IS NOT NULL;

-- Serves the scrubbing of addresses.
CREATE INDEX idx_sessions_ip_address_kept ON sessions (created_at) WHERE ip_address IS NOT NULL;

CREATE FUNCTION sessions_ending_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'session % has ended; its ending cannot be changed', OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'sessions_ending_is_final', TABLE = 'sessions';
END
$$;

CREATE TRIGGER sessions_ending_is_final
    BEFORE UPDATE ON sessions
    FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL
        AND (NEW.revoked_at, NEW.revoked_reason) IS DISTINCT FROM (OLD.revoked_at, OLD.revoked_reason))
    EXECUTE FUNCTION sessions_ending_is_final();

COMMENT ON TABLE sessions IS 'One row is one signed-in device. Valid while revoked_at IS NULL AND expires_at is in the future.';
COMMENT ON COLUMN sessions.id IS 'Public id (UUID v7). Never a credential.';
COMMENT ON COLUMN sessions.user_id IS 'Whose session this is.';
COMMENT ON COLUMN sessions.session_hash IS 'Lower-case hex SHA-256 of the raw token. The token itself is stored nowhere.';
COMMENT ON COLUMN sessions.device_label IS 'Short label for display, such as Chrome on macOS. May be renamed by the user.';
COMMENT ON COLUMN sessions.ip_address IS 'Where the log-in came from, cut to /24 (IPv4) or /48 (IPv6); NULL once older than the retention.';
COMMENT ON COLUMN sessions.user_agent_hash IS 'Lower-case hex SHA-256 of the raw User-Agent bytes, for investigations.';
COMMENT ON COLUMN sessions.auth_level IS 'How strongly the user was authenticated: password or mfa.';
COMMENT ON COLUMN sessions.created_at IS 'When the user logged in.';
COMMENT ON COLUMN sessions.last_seen_at IS 'When the session was last used; written at most once a throttle interval.';
COMMENT ON COLUMN sessions.expires_at IS 'The one deadline that decides validity; slides with use.';
COMMENT ON COLUMN sessions.revoked_at IS 'When the session ended; final once set.';
COMMENT ON COLUMN sessions.revoked_reason IS 'Why the session ended; set together with revoked_at.';
COMMENT ON COLUMN sessions.absolute_expires_at IS 'The cap that expires_at never passes.';
COMMENT ON COLUMN sessions.idle_timeout IS 'How far use moves expires_at, in seconds.';
COMMENT ON COLUMN sessions.authenticated_at IS 'When the user last proved the credential.';
COMMENT ON COLUMN sessions.remember_me IS 'The cookie outlives the browser. Never a second credential.';

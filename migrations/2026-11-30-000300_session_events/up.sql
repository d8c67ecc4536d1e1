CREATE TABLE session_events (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT session_events_pkey PRIMARY KEY,
    occurred_at TIMESTAMPTZ NOT NULL DEFAULT statement_timestamp(),
    kind TEXT NOT NULL,
    session_id UUID,
    user_id BIGINT,
    reason TEXT,
    actor TEXT NOT NULL,
    actor_id BIGINT,
    ip_address INET,
    device_label TEXT,
    note TEXT,
    CONSTRAINT session_events_kind_known CHECK (kind IN (
        'session_created', 'session_revoked', 'session_expired', 'session_rotated', 'reauthenticated',
        'login_failed', 'user_created', 'password_changed', 'user_disabled', 'user_enabled', 'user_deleted',
        'access_denied')),
    CONSTRAINT session_events_actor_known CHECK (actor IN ('user', 'admin', 'service', 'system'))
);

-- Serves a user's own history and a session's, newest first.
CREATE INDEX idx_session_events_user ON session_events (user_id, id);

-- Serves the retention of events and the daily figures.
CREATE INDEX idx_session_events_occurred_at ON session_events (occurred_at);

-- Serves the scrubbing of addresses.
CREATE INDEX idx_session_events_ip_address_kept ON session_events (occurred_at) WHERE ip_address IS NOT NULL;

-- Serves erasure where a deleted user acted upon others; such entries are few.
CREATE INDEX idx_session_events_actor_of_others ON session_events (actor_id) WHERE actor_id <> user_id;

CREATE FUNCTION session_events_is_a_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Only forgetting is permitted: an address or a label may become NULL.
        IF (NEW.ip_address IS NULL OR NEW.ip_address IS NOT DISTINCT FROM OLD.ip_address)
            AND (NEW.device_label IS NULL OR NEW.device_label IS NOT DISTINCT FROM OLD.device_label)
            AND (NEW.id, NEW.occurred_at, NEW.kind, NEW.session_id, NEW.user_id, NEW.reason, NEW.actor, NEW.actor_id, NEW.note)
                IS NOT DISTINCT FROM
                (OLD.id, OLD.occurred_at, OLD.kind, OLD.session_id, OLD.user_id, OLD.reason, OLD.actor, OLD.actor_id, OLD.note)
        THEN
            RETURN NEW;
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF OLD.occurred_at < statement_timestamp() - INTERVAL '2592000 seconds' THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the ledger permits no such %', TG_OP
        USING ERRCODE = 'check_violation', CONSTRAINT = 'session_events_is_a_ledger', TABLE = 'session_events';
END
$$;

CREATE TRIGGER session_events_is_a_ledger
    BEFORE UPDATE OR DELETE ON session_events
    FOR EACH ROW EXECUTE FUNCTION session_events_is_a_ledger();

CREATE TRIGGER session_events_is_not_truncated
    BEFORE TRUNCATE ON session_events
    FOR EACH STATEMENT EXECUTE FUNCTION session_events_is_a_ledger();

COMMENT ON TABLE session_events IS 'The ledger: what happened to sessions and accounts. No foreign keys, so that it outlives both; guarded against rewriting.';
COMMENT ON COLUMN session_events.id IS 'Order of writing.';
COMMENT ON COLUMN session_events.occurred_at IS 'When it happened, by the database''s clock.';
COMMENT ON COLUMN session_events.kind IS 'What happened.';
COMMENT ON COLUMN session_events.session_id IS 'The session concerned, if one.';
COMMENT ON COLUMN session_events.user_id IS 'The user concerned; NULL where none is known.';
COMMENT ON COLUMN session_events.reason IS 'Why; for endings the session''s revoked_reason.';
COMMENT ON COLUMN session_events.actor IS 'Who did it: user, admin, service (an API key) or system.';
COMMENT ON COLUMN session_events.actor_id IS 'The acting user''s id, for user and admin.';
COMMENT ON COLUMN session_events.ip_address IS 'Coarse address (/24 or /48) that the request came from; NULL once older than the retention.';
COMMENT ON COLUMN session_events.device_label IS 'The session''s label at that time; NULL after erasure.';
COMMENT ON COLUMN session_events.note IS 'Free text of an operator or a calling service.';

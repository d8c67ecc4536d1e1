// @generated automatically by Diesel CLI.

diesel::table! {
    /// One row is one run of the cleanup.
    cleanup_runs (id) {
        /// Order of starting.
        id -> Int8,
        /// When the run began.
        started_at -> Timestamptz,
        /// When it ended; NULL while it runs, or where it was killed.
        finished_at -> Nullable<Timestamptz>,
        /// What started it: http, schedule or cli.
        trigger -> Text,
        /// Sessions marked as expired.
        expired -> Int8,
        /// Ended sessions deleted.
        purged -> Int8,
        /// Addresses forgotten, in sessions and in the ledger.
        ip_scrubbed -> Int8,
        /// Events deleted from the ledger.
        events_purged -> Int8,
        /// False where the time budget ran out before everything was done.
        complete -> Bool,
        /// What stopped the run, if something did.
        error -> Nullable<Text>,
    }
}

diesel::table! {
    /// Recent failed password checks, shared by all instances.
    login_throttle (key) {
        /// Hex SHA-256 of what is counted: an e-mail with a coarse address, or an address alone.
        key -> Text,
        /// Failures since the last success.
        failures -> Int4,
        /// When the last one was.
        last_failure_at -> Timestamptz,
        /// Until when further attempts are refused.
        blocked_until -> Timestamptz,
    }
}

diesel::table! {
    /// The ledger: what happened to sessions and accounts. No foreign keys, so that it outlives both; guarded against rewriting.
    session_events (id) {
        /// Order of writing.
        id -> Int8,
        /// When it happened, by the database's clock.
        occurred_at -> Timestamptz,
        /// What happened.
        kind -> Text,
        /// The session concerned, if one.
        session_id -> Nullable<Uuid>,
        /// The user concerned; NULL where none is known.
        user_id -> Nullable<Int8>,
        /// Why; for endings the session's revoked_reason.
        reason -> Nullable<Text>,
        /// Who did it: user, admin, service (an API key) or system.
        actor -> Text,
        /// The acting user's id, for user and admin.
        actor_id -> Nullable<Int8>,
        /// Coarse address (/24 or /48) that the request came from; NULL once older than the retention.
        ip_address -> Nullable<Inet>,
        /// The session's label at that time; NULL after erasure.
        device_label -> Nullable<Text>,
        /// Free text of an operator or a calling service.
        note -> Nullable<Text>,
    }
}

diesel::table! {
    /// One row is one signed-in device. Valid while revoked_at IS NULL AND expires_at is in the future.
    sessions (id) {
        /// Public id (UUID v7). Never a credential.
        id -> Uuid,
        /// Whose session this is.
        user_id -> Int8,
        /// Lower-case hex SHA-256 of the raw token. The token itself is stored nowhere.
        session_hash -> Text,
        /// Short label for display, such as Chrome on macOS. May be renamed by the user.
        device_label -> Nullable<Text>,
        /// Where the log-in came from, cut to /24 (IPv4) or /48 (IPv6); NULL once older than the retention.
        ip_address -> Nullable<Inet>,
        /// Lower-case hex SHA-256 of the raw User-Agent bytes, for investigations.
        user_agent_hash -> Nullable<Text>,
        /// How strongly the user was authenticated: password or mfa.
        auth_level -> Text,
        /// When the user logged in.
        created_at -> Timestamptz,
        /// When the session was last used; written at most once a throttle interval.
        last_seen_at -> Timestamptz,
        /// The one deadline that decides validity; slides with use.
        expires_at -> Timestamptz,
        /// When the session ended; final once set.
        revoked_at -> Nullable<Timestamptz>,
        /// Why the session ended; set together with revoked_at.
        revoked_reason -> Nullable<Text>,
        /// The cap that expires_at never passes.
        absolute_expires_at -> Timestamptz,
        /// How far use moves expires_at, in seconds.
        idle_timeout -> Interval,
        /// When the user last proved the credential.
        authenticated_at -> Timestamptz,
        /// The cookie outlives the browser. Never a second credential.
        remember_me -> Bool,
    }
}

diesel::table! {
    /// People who can sign in. The row is also the lock under which a user's sessions begin and end together.
    users (id) {
        /// Stable id; an existing system may insert its own.
        id -> Int8,
        /// Unique whatever its case; NULL for users that authenticate elsewhere. Personal data.
        email -> Nullable<Text>,
        /// Argon2id in PHC string form; NULL for users that authenticate elsewhere.
        password_hash -> Nullable<Text>,
        /// Moves with a real change of the password, not when its hash is upgraded.
        password_changed_at -> Timestamptz,
        /// user or admin.
        role -> Text,
        /// When the account was made.
        created_at -> Timestamptz,
        /// Set while the account may not sign in.
        disabled_at -> Nullable<Timestamptz>,
    }
}

diesel::joinable!(sessions -> users (user_id));

diesel::allow_tables_to_appear_in_same_query!(
    cleanup_runs,
    login_throttle,
    session_events,
    sessions,
    users,
);

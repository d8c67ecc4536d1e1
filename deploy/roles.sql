-- Two roles with no more rights than they need. Run once as a superuser or the database's owner:
--
--   psql -v ON_ERROR_STOP=1 -d sekisho -f deploy/roles.sql
--
-- sekisho_owner   owns the tables; only for `sekisho migrate` (MIGRATION_DATABASE_URL)
-- sekisho_app     the service (DATABASE_URL): can neither drop nor alter anything, nor rewrite the
--                 ledger, and holds no right to TRUNCATE, which row triggers do not see
--
-- Then: ALTER ROLE sekisho_owner PASSWORD '…'; ALTER ROLE sekisho_app PASSWORD '…';
-- and start the service with AUTO_MIGRATE=false, migrating before each new version:
--
--   DATABASE_URL=postgres://sekisho_owner:…@…/sekisho sekisho migrate

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'sekisho_owner') THEN
        CREATE ROLE sekisho_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'sekisho_app') THEN
        CREATE ROLE sekisho_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    END IF;
    -- Nobody else's temporary tables and schemas.
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO sekisho_owner, sekisho_app', current_database());
END
$$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO sekisho_owner;
GRANT USAGE ON SCHEMA public TO sekisho_app;

-- The server's end of the time-outs, for connections that cannot set their own (a pooler in
-- transaction mode). The service sets its own where it can.
ALTER ROLE sekisho_app SET statement_timeout = '2s';
ALTER ROLE sekisho_app SET lock_timeout = '2s';
ALTER ROLE sekisho_app SET idle_in_transaction_session_timeout = '4s';
ALTER ROLE sekisho_app SET default_transaction_isolation = 'read committed';

-- Tables that are there already, made by whoever migrated first.
DO $$
DECLARE
    found RECORD;
BEGIN
    FOR found IN SELECT format('ALTER TABLE public.%I OWNER TO sekisho_owner', tablename) AS command
        FROM pg_tables WHERE schemaname = 'public' AND tablename IN
            ('users', 'sessions', 'session_events', 'cleanup_runs', 'login_throttle', '__diesel_schema_migrations')
    LOOP
        EXECUTE found.command;
    END LOOP;
    FOR found IN SELECT format('ALTER FUNCTION %s OWNER TO sekisho_owner', oid::regprocedure) AS command
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN
            ('users_id_sequence_follows', 'sessions_ending_is_final', 'session_events_is_a_ledger')
    LOOP
        EXECUTE found.command;
    END LOOP;
END
$$;

-- What the service may do with what is there, and with what the owner will make.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO sekisho_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO sekisho_app;
ALTER DEFAULT PRIVILEGES FOR ROLE sekisho_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO sekisho_app;
ALTER DEFAULT PRIVILEGES FOR ROLE sekisho_owner IN SCHEMA public
    GRANT USAGE ON SEQUENCES TO sekisho_app;

-- The ledger: of its columns the service may change those two alone that may be forgotten. Its
-- trigger, which the service's role can neither drop nor disable, guards the rest.
DO $$
BEGIN
    IF to_regclass('public.session_events') IS NOT NULL THEN
        REVOKE UPDATE ON session_events FROM sekisho_app;
        GRANT UPDATE (ip_address, device_label) ON session_events TO sekisho_app;
    END IF;
    IF to_regclass('public.__diesel_schema_migrations') IS NOT NULL THEN
        REVOKE INSERT, UPDATE, DELETE ON __diesel_schema_migrations FROM sekisho_app;
    END IF;
END
$$;

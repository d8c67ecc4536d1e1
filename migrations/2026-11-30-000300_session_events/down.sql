DROP TABLE session_events;
DROP FUNCTION session_events_is_a_ledger();

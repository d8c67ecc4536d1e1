DROP TABLE sessions;
DROP FUNCTION sessions_ending_is_final();

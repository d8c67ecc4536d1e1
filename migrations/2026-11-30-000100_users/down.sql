DROP TABLE users;
DROP FUNCTION users_id_sequence_follows();

-- Sessions with known tokens: token number i is the base64url SHA-256 of a fixed text and i, so that
-- nothing but the count has to be kept. psql variables: the numbers first to last, of users from
-- number user_id on with per_user sessions each.
CREATE OR REPLACE FUNCTION bench_token(i BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT rtrim(translate(encode(sha256(convert_to('bench ' || i, 'UTF8')), 'base64'), '+/', '-_'), '=')
$$;

CREATE OR REPLACE FUNCTION bench_hash(i BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to(bench_token(i), 'UTF8')), 'hex')
$$;

INSERT INTO users (id, email)
SELECT i, 'user' || i || '@example.com'
FROM generate_series(:user_id, :user_id + (:last - :first) / :per_user) AS i
ON CONFLICT DO NOTHING;

INSERT INTO sessions (id, user_id, session_hash, device_label, ip_address, user_agent_hash,
                      expires_at, absolute_expires_at, idle_timeout, remember_me)
SELECT gen_random_uuid(), :user_id + (i - :first) / :per_user, bench_hash(i),
       'Firefox on Linux', '192.0.2.0/24', bench_hash(-i),
       now() + INTERVAL '1209600 seconds', now() + INTERVAL '2592000 seconds', INTERVAL '1209600 seconds', true
FROM generate_series(:first, :last) AS i;

VACUUM ANALYZE;

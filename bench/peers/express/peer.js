// express-session with connect-pg-simple, set up as their documentation shows.
//
// `node peer.js serve PORT` or `node peer.js seed COUNT SAMPLE`, which makes COUNT sessions and
// prints SAMPLE cookies. The database is the one that the PG… variables name.
const crypto = require('node:crypto');
const express = require('express');
const session = require('express-session');
const pg = require('pg');

const SECRET = 'the same for seeding and serving';
const MONTH = 30 * 24 * 60 * 60 * 1000;
const pool = new pg.Pool();

function serve(port) {
  const app = express();
  app.use(session({
    store: new (require('connect-pg-simple')(session))({ pool }),
    secret: SECRET,
    resave: false,
    saveUninitialized: false,
    cookie: { maxAge: MONTH },
  }));
  app.get('/verify', (request, response) => {
    const id = request.session.user_id;
    if (id === undefined) return response.sendStatus(401);
    response.set('X-Auth-User-Id', String(id)).end();
  });
  app.listen(port, '127.0.0.1');
}

async function seed(count, sample) {
  await pool.query(require('node:fs').readFileSync(require.resolve('connect-pg-simple/table.sql'), 'utf8'));
  const every = Math.max(1, Math.floor(count / sample));
  const cookie = { originalMaxAge: MONTH, expires: new Date(Date.now() + MONTH), httpOnly: true, path: '/' };
  for (let first = 0; first < count; first += 10_000) {
    const ids = [], values = [];
    for (let i = first; i < Math.min(count, first + 10_000); i++) {
      const id = crypto.randomBytes(24).toString('base64url');
      ids.push(id);
      values.push(JSON.stringify({ cookie, user_id: Math.floor(i / 10) + 1 }));
      if (i % every === 0) {
        const signature = crypto.createHmac('sha256', SECRET).update(id).digest('base64').replace(/=+$/, '');
        console.log(`connect.sid=${encodeURIComponent(`s:${id}.${signature}`)}`);
      }
    }
    await pool.query(
      'INSERT INTO session SELECT sid, sess::json, to_timestamp($3) FROM unnest($1::text[], $2::text[]) AS t (sid, sess)',
      [ids, values, (Date.now() + MONTH) / 1000],
    );
  }
  await pool.end();
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'seed') seed(Number(rest[0]), Number(rest[1]));
else serve(Number(rest[0]));

//! The `users` table.

use diesel::dsl::auto_type;
use diesel::prelude::*;

use super::sql::{lower, statement_timestamp};
use crate::domain::credentials::Email;
use crate::domain::search::UserFilter;
use crate::domain::user::{Role, User, UserCredentials};
use crate::schema::users;

/// The unique index on e-mails, by which a duplicate is recognised.
pub const EMAIL_UNIQUE: &str = "users_email_unique";

#[auto_type]
fn columns() -> _ {
    (
        users::id,
        users::email,
        users::role,
        users::created_at,
        users::disabled_at,
    )
}

#[auto_type]
fn credentials() -> _ {
    (
        users::id,
        users::password_hash,
        users::password_changed_at,
        users::disabled_at,
    )
}

/// Makes an account.
pub fn insert(
    conn: &mut PgConnection,
    email: &Email,
    password_hash: &str,
    role: Role,
) -> QueryResult<User> {
    diesel::insert_into(users::table)
        .values((
            users::email.eq(email.as_str()),
            users::password_hash.eq(password_hash),
            users::role.eq(role),
        ))
        .returning(columns())
        .get_result(conn)
}

/// Makes an account that authenticates elsewhere, unless the id is taken. Returns whether it did.
pub fn insert_external(
    conn: &mut PgConnection,
    id: i64,
    email: Option<&Email>,
) -> QueryResult<bool> {
    diesel::insert_into(users::table)
        .values((users::id.eq(id), users::email.eq(email.map(Email::as_str))))
        .on_conflict(users::id)
        .do_nothing()
        .execute(conn)
        .map(|inserted| inserted == 1)
}

/// An account by its id.
pub fn find(conn: &mut PgConnection, id: i64) -> QueryResult<Option<User>> {
    users::table
        .filter(users::id.eq(id))
        .select(columns())
        .first(conn)
        .optional()
}

/// Accounts by their ids.
pub fn find_many(conn: &mut PgConnection, ids: &[i64]) -> QueryResult<Vec<User>> {
    users::table
        .filter(users::id.eq_any(ids))
        .select(columns())
        .load(conn)
}

/// An account by its e-mail.
pub fn find_by_email(conn: &mut PgConnection, email: &Email) -> QueryResult<Option<User>> {
    users::table
        .filter(lower(users::email).eq(email.as_str()))
        .select(columns())
        .first(conn)
        .optional()
}

/// What checking a password needs, by e-mail.
pub fn find_credentials_by_email(
    conn: &mut PgConnection,
    email: &Email,
) -> QueryResult<Option<UserCredentials>> {
    users::table
        .filter(lower(users::email).eq(email.as_str()))
        .select(credentials())
        .first(conn)
        .optional()
}

/// What checking a password needs, by id.
pub fn find_credentials(conn: &mut PgConnection, id: i64) -> QueryResult<Option<UserCredentials>> {
    users::table
        .filter(users::id.eq(id))
        .select(credentials())
        .first(conn)
        .optional()
}

/// Locks the account against everything else that begins or ends several of its sessions, and
/// reads it as it is under the lock. Must be a statement of its own: together with the writing in
/// one statement, both would see the sessions as they were before the wait.
pub fn lock(conn: &mut PgConnection, id: i64) -> QueryResult<Option<(User, UserCredentials)>> {
    users::table
        .filter(users::id.eq(id))
        .select((columns(), credentials()))
        .for_no_key_update()
        .first(conn)
        .optional()
}

/// Sets a new password.
pub fn set_password(conn: &mut PgConnection, id: i64, password_hash: &str) -> QueryResult<usize> {
    diesel::update(users::table.filter(users::id.eq(id)))
        .set((
            users::password_hash.eq(password_hash),
            users::password_changed_at.eq(statement_timestamp()),
        ))
        .execute(conn)
}

/// Replaces the hash of a password that did not change.
pub fn upgrade_password_hash(
    conn: &mut PgConnection,
    id: i64,
    old: &str,
    new: &str,
) -> QueryResult<usize> {
    diesel::update(
        users::table
            .filter(users::id.eq(id))
            .filter(users::password_hash.eq(old)),
    )
    .set(users::password_hash.eq(new))
    .execute(conn)
}

/// Disables an account, unless it is already.
pub fn disable(conn: &mut PgConnection, id: i64) -> QueryResult<usize> {
    diesel::update(
        users::table
            .filter(users::id.eq(id))
            .filter(users::disabled_at.is_null()),
    )
    .set(users::disabled_at.eq(statement_timestamp().nullable()))
    .execute(conn)
}

/// Enables an account, unless it is already.
pub fn enable(conn: &mut PgConnection, id: i64) -> QueryResult<usize> {
    diesel::update(
        users::table
            .filter(users::id.eq(id))
            .filter(users::disabled_at.is_not_null()),
    )
    .set(users::disabled_at.eq(None::<chrono::DateTime<chrono::Utc>>))
    .execute(conn)
}

/// Deletes an account whose sessions are gone.
pub fn delete(conn: &mut PgConnection, id: i64) -> QueryResult<usize> {
    diesel::delete(users::table.filter(users::id.eq(id))).execute(conn)
}

/// Accounts that a filter matches, newest first, before the account `before`.
pub fn search(
    conn: &mut PgConnection,
    filter: &UserFilter,
    before: Option<i64>,
    limit: i64,
) -> QueryResult<Vec<User>> {
    let mut query = users::table.into_boxed();
    if let Some(id) = filter.id {
        query = query.filter(users::id.eq(id));
    }
    if let Some(part) = &filter.email_part {
        let literal = part
            .to_lowercase()
            .replace('\\', r"\\")
            .replace('%', r"\%")
            .replace('_', r"\_");
        query = query.filter(lower(users::email).like(format!("%{literal}%")));
    }
    match filter.disabled {
        Some(true) => query = query.filter(users::disabled_at.is_not_null()),
        Some(false) => query = query.filter(users::disabled_at.is_null()),
        None => {}
    }
    query
        .filter(users::id.lt(before.unwrap_or(i64::MAX)))
        .order(users::id.desc())
        .limit(limit)
        .select(columns())
        .load(conn)
}

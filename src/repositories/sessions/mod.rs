//! The `sessions` table.

mod beginning;
mod ending;
mod reading;
mod retention;
mod searching;
mod touching;

pub use beginning::*;
pub use ending::*;
pub use reading::*;
pub use retention::*;
pub use searching::*;
pub use touching::*;

use diesel::dsl::auto_type;

use super::sql::{is_active, statement_timestamp};
use crate::schema::sessions;

mod alias {
    use crate::schema::sessions;
    // The inner table where an UPDATE or DELETE chooses its own rows under SKIP LOCKED.
    diesel::alias!(sessions as candidates: Candidates);
}
use alias::candidates;

/// The columns of [`crate::domain::session::Session`], in its order.
#[auto_type]
fn columns() -> _ {
    (
        sessions::id,
        sessions::user_id,
        sessions::device_label,
        sessions::ip_address,
        sessions::auth_level,
        sessions::remember_me,
        sessions::created_at,
        sessions::last_seen_at,
        sessions::authenticated_at,
        sessions::expires_at,
        sessions::absolute_expires_at,
        sessions::revoked_at,
        sessions::revoked_reason,
        is_active(),
        statement_timestamp(),
    )
}

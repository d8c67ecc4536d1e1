//! A new token for a session that stays.

use chrono::TimeDelta;

use super::super::Result;
use super::super::verification::Authenticated;
use super::proof::why_ended;
use super::{Opened, new_token};
use crate::context::Context;
use crate::domain::client::Client;
use crate::domain::event::{Actor, EventKind};
use crate::repositories::session_events::{self, Subject};
use crate::repositories::{sessions, users};

/// Gives the caller's session a new token; the old one is dead from now on. Of two rotations of the
/// same token one wins.
///
/// # Errors
/// `SessionUnknown` for the one that did not, `Unavailable`.
pub async fn rotate(context: &Context, caller: &Authenticated, client: &Client) -> Result<Opened> {
    let token = new_token()?;
    let (id, user_id) = (caller.session.id, caller.session.user_id);
    let (old, new, address) = (caller.hash, token.hash(), client.coarse_address());
    let interval = context.config.session.touch_interval;
    let margin = TimeDelta::from_std(context.config.database.timeout).unwrap_or(TimeDelta::MAX);
    let rotated = context.database.write(move |conn| {
        // The use is written here as well where it is due: the touch beside this request passes over
        // a row that is being rotated.
        sessions::touch(conn, &[id], interval, margin)?;
        let Some(session) = sessions::replace_hash(conn, id, &old, &new)? else {
            return Ok(None);
        };
        let subject = Subject {
            user_id: Some(user_id),
            session_id: Some(id),
            device_label: session.device_label.as_deref(),
            note: None,
        };
        session_events::record(
            conn,
            EventKind::SessionRotated,
            Actor::user(user_id, address),
            &subject,
        )?;
        Ok(users::find(conn, user_id)?.map(|user| (user, session)))
    });
    match rotated.await? {
        Some((user, session)) => Ok(Opened {
            user,
            session,
            token,
        }),
        None => Err(why_ended(context, caller).await),
    }
}

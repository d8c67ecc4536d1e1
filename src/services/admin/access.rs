//! Who may.

use uuid::Uuid;

use crate::context::Context;
use crate::domain::client::Client;
use crate::domain::event::{Actor, EventKind};
use crate::domain::user::{Role, User};
use crate::repositories::session_events::{self, Subject};
use crate::services::verification::{self, Authenticated};
use crate::services::{Refusal, Result};

/// An administrator who is signed in.
#[derive(Debug, Clone)]
pub struct Administrator {
    /// The account.
    pub user: User,
    /// The session.
    pub caller: Authenticated,
    /// Where from.
    pub client: Client,
}

impl Administrator {
    /// As the ledger has it.
    pub fn actor(&self) -> Actor {
        Actor::admin(self.user.id, self.client.coarse_address())
    }
}

/// Lets administrators in; an attempt by anybody else is entered in the ledger. `what` says of what.
///
/// # Errors
/// `Forbidden`, `SessionUnknown`, `Unavailable`.
pub async fn authorise(
    context: &Context,
    caller: Authenticated,
    client: Client,
    what: String,
) -> Result<Administrator> {
    let user = verification::owner(context, &caller.session).await?;
    if user.role == Role::Admin {
        return Ok(Administrator {
            user,
            caller,
            client,
        });
    }
    let session = caller.session.id;
    deny(context, user.id, session, &client, what).await?;
    Err(Refusal::Forbidden)
}

/// Enters in the ledger that somebody asked for what only administrators may see.
///
/// # Errors
/// `Unavailable`.
pub async fn deny(
    context: &Context,
    user_id: i64,
    session_id: Uuid,
    client: &Client,
    what: String,
) -> Result<()> {
    let actor = Actor::user(user_id, client.coarse_address());
    let recorded = context.database.write(move |conn| {
        let subject = Subject {
            session_id: Some(session_id),
            user_id: Some(user_id),
            note: Some(&what),
            ..Subject::default()
        };
        session_events::record(conn, EventKind::AccessDenied, actor, &subject)
    });
    Ok(recorded.await?)
}

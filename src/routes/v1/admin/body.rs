//! Bodies of the administrators' endpoints.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use ipnetwork::IpNetwork;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::super::error::ApiError;
use super::super::super::extractors::JsonBody;
use crate::domain::cleanup::Trigger;
use crate::domain::event::{ActorKind, Event, EventKind};
use crate::domain::search::State;
use crate::domain::session::{AuthLevel, Reason, Session, Verdict};
use crate::domain::text::{MAX_NOTE_CHARS, display_text};
use crate::domain::user::{Role, User};
use crate::services::admin::CleanupRun;
use crate::services::refusal::invalid;

/// A session as administrators see it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = admin::SessionBody)]
pub(super) struct SessionBody {
    id: Uuid,
    user_id: i64,
    email: Option<String>,
    state: State,
    device_label: Option<String>,
    #[schema(value_type = Option<String>)]
    ip_address: Option<IpNetwork>,
    auth_level: AuthLevel,
    remember_me: bool,
    created_at: DateTime<Utc>,
    last_seen_at: DateTime<Utc>,
    authenticated_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    absolute_expires_at: DateTime<Utc>,
    expires_in: i64,
    revoked_at: Option<DateTime<Utc>>,
    revoked_reason: Option<Reason>,
    current: bool,
}

impl SessionBody {
    pub(super) fn new(session: Session, email: Option<String>, current: Uuid) -> Self {
        Self {
            state: match session.verdict() {
                Verdict::Active => State::Active,
                Verdict::Expired => State::Expired,
                Verdict::Revoked(_) => State::Revoked,
            },
            expires_in: session.expires_in(),
            current: session.id == current,
            id: session.id,
            user_id: session.user_id,
            email,
            device_label: session.device_label,
            ip_address: session.ip_address,
            auth_level: session.auth_level,
            remember_me: session.remember_me,
            created_at: session.created_at,
            last_seen_at: session.last_seen_at,
            authenticated_at: session.authenticated_at,
            expires_at: session.expires_at,
            absolute_expires_at: session.absolute_expires_at,
            revoked_at: session.revoked_at,
            revoked_reason: session.revoked_reason,
        }
    }
}

/// An entry of the ledger as administrators see it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = admin::EventBody)]
pub(super) struct EventBody {
    id: i64,
    occurred_at: DateTime<Utc>,
    kind: EventKind,
    session_id: Option<Uuid>,
    user_id: Option<i64>,
    reason: Option<Reason>,
    actor: ActorKind,
    actor_id: Option<i64>,
    #[schema(value_type = Option<String>)]
    ip_address: Option<IpNetwork>,
    device_label: Option<String>,
    note: Option<String>,
}

impl From<Event> for EventBody {
    fn from(event: Event) -> Self {
        Self {
            id: event.id,
            occurred_at: event.occurred_at,
            kind: event.kind,
            session_id: event.session_id,
            user_id: event.user_id,
            reason: event.reason,
            actor: event.actor,
            actor_id: event.actor_id,
            ip_address: event.ip_address,
            device_label: event.device_label,
            note: event.note,
        }
    }
}

/// A user as administrators see it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = admin::UserBody)]
pub(super) struct UserBody {
    id: i64,
    email: Option<String>,
    role: Role,
    created_at: DateTime<Utc>,
    disabled_at: Option<DateTime<Utc>>,
}

impl From<User> for UserBody {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            email: user.email,
            role: user.role,
            created_at: user.created_at,
            disabled_at: user.disabled_at,
        }
    }
}

/// A run of the cleanup.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct CleanupRunBody {
    id: i64,
    started_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
    trigger: Trigger,
    expired: i64,
    purged: i64,
    ip_scrubbed: i64,
    events_purged: i64,
    complete: bool,
    error: Option<String>,
}

impl From<CleanupRun> for CleanupRunBody {
    fn from(run: CleanupRun) -> Self {
        Self {
            id: run.id,
            started_at: run.started_at,
            finished_at: run.finished_at,
            trigger: run.trigger,
            expired: run.expired,
            purged: run.purged,
            ip_scrubbed: run.ip_scrubbed,
            events_purged: run.events_purged,
            complete: run.complete,
            error: run.error,
        }
    }
}

/// A body that may carry a remark for the ledger, or be missing altogether.
#[derive(Deserialize, Default, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct NoteFields {
    note: Option<String>,
}

impl NoteFields {
    /// The remark of a request.
    pub(super) async fn read(body: JsonBody<Self>) -> Result<Option<String>, ApiError> {
        note(body.read_if_any().await?.note)
    }
}

/// A remark that is fit for the ledger.
pub(super) fn note(text: Option<String>) -> Result<Option<String>, ApiError> {
    let note = text.map(|text| display_text(&text, MAX_NOTE_CHARS).map_err(invalid("note")));
    Ok(note.transpose()?)
}

/// A page of a list; where the next one begins stands in `Link`.
pub(super) fn page<T: Serialize>(
    request: &HttpRequest,
    items: Vec<T>,
    next: Option<String>,
) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        let link = format!("<{}?{next}>; rel=\"next\"", request.path());
        response.insert_header((header::LINK, link));
    }
    response.json(items)
}

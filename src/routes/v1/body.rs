//! Bodies that more than one endpoint answers with.

use actix_web::HttpResponse;
use chrono::{DateTime, Utc};
use ipnetwork::IpNetwork;
use serde::Serialize;
use uuid::Uuid;

use super::super::cookie;
use super::super::extractors::Form;
use crate::config::CookieConfig;
use crate::domain::session::{AuthLevel, Session};
use crate::domain::user::{Role, User};
use crate::services::auth::Opened;

/// A session; never a token or a hash.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct SessionBody {
    id: Uuid,
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
    current: bool,
}

impl SessionBody {
    pub(super) fn new(session: Session, current: Uuid) -> Self {
        Self {
            expires_in: session.expires_in(),
            current: session.id == current,
            id: session.id,
            device_label: session.device_label,
            ip_address: session.ip_address,
            auth_level: session.auth_level,
            remember_me: session.remember_me,
            created_at: session.created_at,
            last_seen_at: session.last_seen_at,
            authenticated_at: session.authenticated_at,
            expires_at: session.expires_at,
            absolute_expires_at: session.absolute_expires_at,
        }
    }
}

/// A user.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct UserBody {
    id: i64,
    email: Option<String>,
    role: Role,
    created_at: DateTime<Utc>,
}

impl From<User> for UserBody {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            email: user.email,
            role: user.role,
            created_at: user.created_at,
        }
    }
}

/// Who is signed in, and how. The token is there for callers that keep it themselves.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct SignedInBody {
    user: UserBody,
    session: SessionBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<i64>,
}

impl SignedInBody {
    pub(super) fn new(user: User, session: Session) -> Self {
        let id = session.id;
        Self {
            user: user.into(),
            session: SessionBody::new(session, id),
            session_token: None,
            token_type: None,
            expires_in: None,
        }
    }
}

/// What happened, and to how many sessions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RevokedBody {
    pub(super) message: &'static str,
    pub(super) revoked_count: usize,
}

/// Hands a new token over: in the cookie or in the body, never in both.
pub(super) fn hand_over(config: &CookieConfig, form: Form, opened: Opened) -> HttpResponse {
    let Opened {
        user,
        session,
        token,
    } = opened;
    let mut response = HttpResponse::Ok();
    match form {
        Form::Cookie => {
            if let Some(header) = cookie::header(&cookie::set(config, &user, &session, &token)) {
                response.append_header(header);
            }
            response.json(SignedInBody::new(user, session))
        }
        Form::Bearer => {
            let expires_in = session.expires_in();
            response.json(SignedInBody {
                session_token: Some(token.expose().to_owned()),
                token_type: Some("Bearer"),
                expires_in: Some(expires_in),
                ..SignedInBody::new(user, session)
            })
        }
    }
}

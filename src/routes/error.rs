//! The one error of the HTTP layer: each with its status, its stable code and its headers.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use serde::Serialize;

use super::middleware::X_REQUEST_ID;
use super::{ALWAYS, HSTS};
use crate::services::Refusal;

/// Seconds after which a client may try again when the database is away.
const RETRY_AFTER: &str = "1";

/// Rounded up: a client that waits exactly so long must not come too early.
pub fn retry_after_seconds(delay: chrono::TimeDelta) -> i64 {
    delay.num_milliseconds().max(0).div_euclid(1000) + 1
}

/// Everything that a request can be answered with instead of what it asked for.
#[derive(Debug)]
pub enum ApiError {
    /// A service said no.
    Refused(Refusal),
    /// Syntax, types, missing or unknown fields.
    Malformed(String),
    /// Not application/json where it must be.
    UnsupportedMediaType,
    /// A body in a content coding.
    Encoded,
    /// Not a form where it must be.
    NotAForm,
    /// A body beyond the limit.
    TooLarge,
    /// A body that did not arrive in time.
    Slow,
    /// Nothing at this path.
    NotFound,
    /// Something at this path, but not for this method.
    MethodNotAllowed(&'static str),
    /// A page of another origin used the cookie.
    CrossOrigin,
    /// No or a wrong API key.
    ApiKey,
    /// No or a wrong API key where OAuth clients authenticate.
    ClientAuthentication,
    /// A failure of the cleanup endpoint, which answers every one of them with 500.
    Cleanup(Refusal),
    /// The handler panicked. Its answer is made outside of everything that adds headers.
    Panic {
        /// For the answer's header.
        request_id: String,
        /// Whether browsers are to keep to HTTPS.
        is_secure: bool,
    },
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The envelope of every error.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ErrorBody<'a> {
    code: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl ApiError {
    /// Status and code.
    pub fn code(&self) -> (StatusCode, &'static str) {
        use Refusal as R;
        match self {
            Self::Malformed(_) => (StatusCode::BAD_REQUEST, "malformed_request"),
            Self::UnsupportedMediaType | Self::Encoded | Self::NotAForm => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type")
            }
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "request_timeout"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::CrossOrigin => (StatusCode::FORBIDDEN, "cross_origin"),
            Self::ApiKey | Self::ClientAuthentication => {
                (StatusCode::UNAUTHORIZED, "api_key_invalid")
            }
            Self::Cleanup(_) | Self::Panic { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal_error")
            }
            Self::Refused(refusal) => match refusal {
                R::CredentialsMissing => (StatusCode::UNAUTHORIZED, "credentials_missing"),
                R::SessionUnknown => (StatusCode::UNAUTHORIZED, "session_unknown"),
                R::SessionExpired => (StatusCode::UNAUTHORIZED, "session_expired"),
                R::SessionRevoked(_) => (StatusCode::UNAUTHORIZED, "session_revoked"),
                R::SessionAmbiguous => (StatusCode::UNAUTHORIZED, "session_ambiguous"),
                R::ReauthenticationRequired { .. } | R::AuthLevelInsufficient => {
                    (StatusCode::UNAUTHORIZED, "reauthentication_required")
                }
                R::InvalidCredentials => (StatusCode::UNAUTHORIZED, "invalid_credentials"),
                R::PasswordIncorrect => (StatusCode::FORBIDDEN, "password_incorrect"),
                R::PasswordNotSet => (StatusCode::CONFLICT, "password_not_set"),
                R::PasswordRejected(_) => (StatusCode::UNPROCESSABLE_ENTITY, "password_rejected"),
                R::Throttled { .. } => (StatusCode::TOO_MANY_REQUESTS, "throttled"),
                R::EmailTaken => (StatusCode::CONFLICT, "email_taken"),
                R::EmailConflict => (StatusCode::CONFLICT, "email_conflict"),
                R::UserDisabled => (StatusCode::CONFLICT, "user_disabled"),
                R::SignUpDisabled => (StatusCode::FORBIDDEN, "sign_up_disabled"),
                R::NotFound => (StatusCode::NOT_FOUND, "not_found"),
                R::Forbidden => (StatusCode::FORBIDDEN, "forbidden"),
                R::FilterTooBroad => (StatusCode::UNPROCESSABLE_ENTITY, "filter_too_broad"),
                R::CountChanged => (StatusCode::CONFLICT, "count_changed"),
                R::InvalidField { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_field"),
                R::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
                R::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
            },
        }
    }

    fn message(&self) -> String {
        use Refusal as R;
        match self {
            Self::Malformed(problem) => return problem.clone(),
            Self::NotAForm => {
                return "Send the body as application/x-www-form-urlencoded.".to_owned();
            }
            Self::Encoded => return "Send the body without a Content-Encoding.".to_owned(),
            Self::Refused(R::PasswordRejected(rejection)) => return rejection.message(),
            Self::Refused(R::InvalidField { field, problem }) => {
                return format!("The field {field} {problem}.");
            }
            Self::Refused(R::SessionRevoked(reason)) => {
                return format!("This session has ended: {}.", reason.as_str());
            }
            _ => {}
        }
        match self.code().1 {
            "unsupported_media_type" => "Send the body as application/json.",
            "body_too_large" => "The body is too large.",
            "request_timeout" => "The body did not arrive in time.",
            "not_found" => "There is nothing here, or nothing that you may see.",
            "method_not_allowed" => "This path does not take that method; see the Allow header.",
            "cross_origin" => "This request came from a page of another origin.",
            "api_key_invalid" => "A valid API key is required.",
            "credentials_missing" => "Sign in first.",
            "session_unknown" => "There is no such session.",
            "session_expired" => "This session has expired.",
            "session_ambiguous" => {
                "More than one session was presented at once. Log out and in again."
            }
            "reauthentication_required" => {
                "Prove who you are again, then repeat this request. Keep the session's token."
            }
            "invalid_credentials" => "E-mail and password do not fit.",
            "password_incorrect" => "The password is not right.",
            "password_not_set" => "This account has no password here.",
            "throttled" => "Too many attempts. Wait, as the Retry-After header says.",
            "email_taken" => "There is an account with this e-mail already.",
            "email_conflict" => {
                "The account of this id has a password and another e-mail: it may be somebody else's."
            }
            "user_disabled" => "This account is disabled.",
            "sign_up_disabled" => "Accounts are not made here.",
            "forbidden" => "Only administrators may do this.",
            "filter_too_broad" => {
                "This filter takes too long. Narrow it: a user, or a shorter time."
            }
            "count_changed" => "More sessions match now than were counted. Count again first.",
            "unavailable" => {
                "The service cannot answer at the moment. Keep the session's token and try again."
            }
            _ => "Something went wrong on our side.",
        }
        .to_owned()
    }

    fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Refused(Refusal::SessionRevoked(reason)) => Some(reason.as_str()),
            Self::Refused(Refusal::PasswordRejected(rejection)) => Some(rejection.reason()),
            _ => None,
        }
    }

    fn field(&self) -> Option<&'static str> {
        match self {
            Self::Refused(Refusal::InvalidField { field, .. }) => Some(field),
            _ => None,
        }
    }

    /// The challenge of a 401 (RFC 9110, 6750, 9470).
    fn challenge(&self) -> Option<String> {
        const REALM: &str = r#"Bearer realm="sekisho""#;
        match self {
            Self::ApiKey => Some(r#"ApiKey realm="sekisho""#.to_owned()),
            Self::ClientAuthentication => {
                Some(r#"Basic realm="sekisho", charset="UTF-8""#.to_owned())
            }
            Self::Refused(Refusal::CredentialsMissing | Refusal::InvalidCredentials) => {
                Some(REALM.to_owned())
            }
            Self::Refused(Refusal::ReauthenticationRequired { max_age }) => Some(format!(
                r#"{REALM}, error="insufficient_user_authentication", error_description="{}", max_age="{}""#,
                "A more recent authentication is required",
                max_age.num_seconds()
            )),
            Self::Refused(Refusal::AuthLevelInsufficient) => Some(format!(
                r#"{REALM}, error="insufficient_user_authentication", error_description="{}", acr_values="mfa""#,
                "A stronger authentication is required"
            )),
            _ if self.code().0 == StatusCode::UNAUTHORIZED => Some(format!(
                r#"{REALM}, error="invalid_token", error_description="{}""#,
                self.code().1
            )),
            _ => None,
        }
    }

    /// What the log is told beyond status and code; never what the client is told.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Refused(Refusal::Unavailable(why) | Refusal::Internal(why))
            | Self::Cleanup(Refusal::Unavailable(why) | Refusal::Internal(why)) => Some(why),
            _ => None,
        }
    }

    /// Whether somebody watching the door wants to know.
    pub fn is_security_event(&self) -> bool {
        match self {
            Self::CrossOrigin | Self::ApiKey | Self::ClientAuthentication => true,
            Self::Refused(refusal) => matches!(
                refusal,
                Refusal::InvalidCredentials
                    | Refusal::PasswordIncorrect
                    | Refusal::Throttled { .. }
                    | Refusal::SessionAmbiguous
                    | Refusal::Forbidden
            ),
            _ => false,
        }
    }

    fn builder(&self) -> HttpResponseBuilder {
        let mut response = HttpResponse::build(self.code().0);
        if let Some(challenge) = self.challenge() {
            response.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        match self {
            Self::MethodNotAllowed(allow) => {
                response.insert_header((header::ALLOW, *allow));
            }
            Self::Refused(Refusal::Throttled { retry_after }) => {
                let seconds = retry_after_seconds(*retry_after);
                response.insert_header((header::RETRY_AFTER, seconds.to_string()));
            }
            Self::Panic {
                request_id,
                is_secure,
            } => {
                for header in ALWAYS {
                    response.insert_header(header);
                }
                if *is_secure {
                    response.insert_header(HSTS);
                }
                response.insert_header((X_REQUEST_ID, request_id.as_str()));
            }
            Self::Refused(Refusal::Unavailable(_)) => {
                response.insert_header((header::RETRY_AFTER, RETRY_AFTER));
            }
            _ => {}
        }
        response
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code().1)
    }
}

impl std::error::Error for ApiError {}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.code().0
    }

    fn error_response(&self) -> HttpResponse {
        let body = ErrorBody {
            code: self.code().1,
            message: self.message(),
            reason: self.reason(),
            field: self.field(),
        };
        self.builder().json(body)
    }
}

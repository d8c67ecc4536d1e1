//! Errors in the reader's words.

use super::super::error::{ApiError, retry_after_seconds};
use super::messages::{Messages, counted};
use crate::services::Refusal;

/// What did not work, and what to do.
pub fn explain(m: &Messages, error: &ApiError) -> String {
    let ApiError::Refused(refusal) = error else {
        return match error {
            ApiError::CrossOrigin => m.err_cross_origin,
            ApiError::NotFound => m.err_not_found,
            ApiError::MethodNotAllowed(_) => m.err_method,
            ApiError::Malformed(_) => m.err_malformed,
            ApiError::TooLarge => m.err_too_large,
            ApiError::UnsupportedMediaType | ApiError::NotAForm => m.err_media_type,
            ApiError::Slow => m.err_slow,
            _ => m.err_other,
        }
        .to_owned();
    };
    match refusal {
        Refusal::InvalidCredentials => m.err_credentials,
        Refusal::Throttled { retry_after } => {
            return counted(m.err_throttled, retry_after_seconds(*retry_after));
        }
        Refusal::EmailTaken => m.err_email_taken,
        Refusal::SignUpDisabled => m.err_sign_up_disabled,
        Refusal::PasswordRejected(rejection) => return m.rejection(rejection),
        Refusal::PasswordIncorrect => m.err_password_incorrect,
        Refusal::PasswordNotSet => m.err_password_not_set,
        Refusal::InvalidField { field, problem } => return m.field(field, problem),
        Refusal::NotFound => m.err_not_found,
        Refusal::Forbidden => m.err_forbidden,
        Refusal::FilterTooBroad => m.err_too_broad,
        Refusal::CountChanged => m.err_count_changed,
        Refusal::ReauthenticationRequired { .. } => m.err_reauthenticate,
        Refusal::SessionExpired => m.sess_expired,
        Refusal::SessionRevoked(reason) => return m.ended(*reason),
        Refusal::SessionAmbiguous => m.err_ambiguous,
        Refusal::UserDisabled => m.err_user_disabled,
        Refusal::Unavailable(_) => m.err_unavailable,
        _ => m.err_other,
    }
    .to_owned()
}

//! What is wrong with what somebody typed.

use super::{Messages, counted, fill};
use crate::domain::credentials::PasswordRejection;
use crate::domain::problem::Problem;

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Messages {
    /// What the forms call a field.
    pub fn label(&self, field: &'static str) -> &'static str {
        match field {
            "email" => self.email,
            "password" => self.password,
            "current_password" => self.current_password,
            "new_password" => self.new_password,
            "user_id" => self.user_id,
            "session_id" => self.session_id,
            "state" | "disabled" => self.state,
            "reason" => self.reason,
            "ip" => self.address,
            "auth_level" => self.auth_level,
            "created_after" => self.created_after,
            "created_before" => self.created_before,
            "seen_after" => self.seen_after,
            "seen_before" => self.seen_before,
            "occurred_after" => self.occurred_after,
            "occurred_before" => self.occurred_before,
            "kind" => self.kind,
            "actor" => self.by,
            "query" => self.find_user,
            "name" | "device_label" => self.name,
            "note" => self.note,
            "cursor" => self.page,
            "limit" => self.page_length,
            "id" => self.user,
            other => other,
        }
    }

    /// What is wrong with a field, and what to do.
    pub fn field(&self, field: &'static str, problem: &Problem) -> String {
        let what = match problem {
            Problem::Empty => self.p_empty.to_owned(),
            Problem::TooLong(most) => counted(self.p_too_long, count(*most)),
            Problem::Unprintable | Problem::Nul => self.p_unprintable.to_owned(),
            Problem::NotAnEmail => self.p_email.to_owned(),
            Problem::NotANumber if field == "cursor" => self.p_page.to_owned(),
            Problem::NotANumber | Problem::TooSmall(_) => self.p_number.to_owned(),
            Problem::NotBetween(most) => counted(self.p_between, i64::from(*most)),
            Problem::NotATime => self.p_time.to_owned(),
            Problem::NotOneOf(_) | Problem::NotABoolean => self.p_one_of.to_owned(),
            Problem::NotANetwork | Problem::NotAnAddress => self.p_network.to_owned(),
            Problem::NotASessionId => self.p_session_id.to_owned(),
            Problem::NotACursor => self.p_page.to_owned(),
            Problem::OwnAccount => self.p_own_account.to_owned(),
        };
        fill(&fill(self.err_field, self.label(field)), what)
    }

    /// Why a new password was refused.
    pub fn rejection(&self, rejection: &PasswordRejection) -> String {
        let why = match rejection {
            PasswordRejection::TooShort(least) => counted(self.rej_short, count(*least)),
            PasswordRejection::TooLong(most) => counted(self.rej_long, count(*most)),
            PasswordRejection::Nul => self.p_unprintable.to_owned(),
            PasswordRejection::Common => self.rej_common.to_owned(),
            PasswordRejection::Context => self.rej_context.to_owned(),
        };
        fill(self.err_password_rejected, why)
    }
}

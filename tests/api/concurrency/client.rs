//! Clients that do what real ones do, many at once and on either instance.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use super::record::{History, Kind, Operation, Outcome, Random, Token};
use crate::support::app::Instance;
use crate::support::{CLEANUP_KEY, Reply};

/// What the clients of a user share.
pub struct User {
    pub number: usize,
    pub id: i64,
    pub email: String,
    pub known: Mutex<Known>,
}

pub struct Known {
    /// The last few tokens, dead or alive.
    pub tokens: Vec<usize>,
    /// Passwords that may be the current one.
    pub passwords: Vec<String>,
    pub changes: usize,
}

pub struct Client<'a> {
    pub instances: [&'a Instance; 2],
    pub users: &'a [Arc<User>],
    pub user: Arc<User>,
    pub history: &'a History,
    pub random: Random,
}

/// What a request is about, before it is sent.
#[derive(Default)]
struct About {
    token: Option<usize>,
    superseded: Option<usize>,
    target: Option<String>,
    password: Option<String>,
}

impl Client<'_> {
    /// One step: mostly one request, now and then several at once.
    pub async fn step(&self) {
        if self.random.percent(8) {
            // Log-ins in the midst of an ending of everything.
            let ending = match self.random.below(3) {
                0 => Kind::ChangePassword,
                _ => Kind::LogoutAll,
            };
            let volley = [Kind::Login, ending, Kind::Login, Kind::Login];
            join_all(volley.map(|kind| self.run(kind))).await;
            return;
        }
        if self.random.percent(6) {
            let same = match self.random.below(3) {
                0 => Kind::Rotate,
                1 => Kind::Get,
                _ => Kind::Login,
            };
            join_all([same; 4].map(|kind| self.run(kind))).await;
            return;
        }
        let kind = match self.random.below(100) {
            0..25 => Kind::Get,
            25..35 => Kind::Verify,
            35..39 => Kind::List,
            39..58 => Kind::Login,
            58..71 => Kind::Logout,
            71..75 => Kind::LogoutAll,
            75..79 => Kind::LogoutOthers,
            79..82 => Kind::ChangePassword,
            82..90 => Kind::Rotate,
            90..93 => Kind::Reauthenticate,
            93..99 => Kind::EndSession,
            _ => Kind::Cleanup,
        };
        self.run(kind).await;
    }

    /// A token of the user: mostly one of the latest.
    fn any_token(&self) -> Option<usize> {
        let known = self.user.known.lock().unwrap();
        let latest = known.tokens.len().saturating_sub(5);
        let from = if self.random.percent(80) { latest } else { 0 };
        self.random.one_of(&known.tokens[from..]).copied()
    }

    fn any_password(&self) -> String {
        let known = self.user.known.lock().unwrap();
        self.random.one_of(&known.passwords).cloned().unwrap()
    }

    async fn run(&self, kind: Kind) {
        let number = self.random.below(2);
        let instance = self.instances[number];
        let auth =
            |method, path: &str| instance.auth(method, path).timeout(Duration::from_secs(20));
        let mut about = About {
            token: self.any_token(),
            ..About::default()
        };
        if !matches!(kind, Kind::Login | Kind::Cleanup) && about.token.is_none() {
            return;
        }
        let mut new_password = None;
        let request = match kind {
            Kind::Login => {
                let superseded = about.token.take().filter(|_| self.random.percent(20));
                about.superseded = superseded;
                about.password = Some(self.any_password());
                let body = json!({"email": self.user.email, "password": about.password, "delivery": "token",
                    "remember_me": self.random.percent(20)});
                let request = auth(Method::POST, "login").json(&body);
                match superseded {
                    Some(token) => {
                        let cookie =
                            format!("__Host-session_id={}", self.history.token(token).text);
                        request.header("Cookie", cookie)
                    }
                    None => request,
                }
            }
            Kind::Get => auth(Method::GET, "session"),
            Kind::Verify => auth(Method::GET, "verify"),
            Kind::List => auth(Method::GET, "sessions"),
            Kind::Logout => auth(Method::POST, "logout"),
            Kind::LogoutAll => auth(Method::POST, "logout_all"),
            Kind::LogoutOthers => auth(Method::POST, "logout_others"),
            Kind::Rotate => auth(Method::POST, "rotate_session"),
            Kind::Reauthenticate => {
                about.password = Some(self.any_password());
                auth(Method::POST, "reauthenticate").json(&json!({"password": about.password}))
            }
            Kind::ChangePassword => {
                about.password = Some(self.any_password());
                let mut known = self.user.known.lock().unwrap();
                known.changes += 1;
                let new = format!("correct horse battery {}", known.changes);
                drop(known);
                let body = json!({"current_password": about.password, "new_password": new});
                new_password = Some(new);
                auth(Method::POST, "change_password").json(&body)
            }
            Kind::EndSession => {
                // Now and then a stranger's: it must look unknown and stay alive.
                let owner = match self.random.percent(20) {
                    true => self.random.one_of(self.users).unwrap(),
                    false => &self.user,
                };
                let known = owner.known.lock().unwrap();
                let Some(target) = self.random.one_of(&known.tokens).copied() else {
                    return;
                };
                drop(known);
                let session = self.history.token(target).session;
                let path = format!("sessions/{session}");
                about.target = Some(session);
                auth(Method::DELETE, &path)
            }
            Kind::Cleanup => {
                about.token = None;
                auth(Method::POST, "cleanup_sessions").header("X-API-Key", CLEANUP_KEY)
            }
        };
        let request = match about.token {
            Some(token) => request.bearer_auth(self.history.token(token).text),
            None => request,
        };
        self.send(kind, number, about, new_password, request).await;
    }

    async fn send(
        &self,
        kind: Kind,
        instance: usize,
        about: About,
        new_password: Option<String>,
        request: RequestBuilder,
    ) {
        let start = self.history.now();
        let reply = Reply::try_of(request).await;
        let end = self.history.now();
        let mut operation = Operation {
            kind,
            user: self.user.number,
            instance,
            token: about.token,
            superseded: about.superseded,
            target: about.target,
            gives: None,
            password: about.password,
            start,
            end,
            outcome: reply
                .as_ref()
                .map_or(Outcome::Maybe, |reply| judge(kind, reply)),
            count: 0,
            seen: None,
            listed: Vec::new(),
        };
        if let (Outcome::Accepted, Ok(reply)) = (&operation.outcome, &reply) {
            self.learn(&mut operation, reply);
        }
        self.learn_password(&operation, new_password);
        self.history.push(operation);
    }

    /// Passwords never return, so one that was refused is gone for good.
    fn learn_password(&self, operation: &Operation, new: Option<String>) {
        let mut known = self.user.known.lock().unwrap();
        let is_retired = match operation.outcome {
            Outcome::Accepted => new.is_some(),
            Outcome::Refused(401, _) => operation.kind == Kind::Login,
            Outcome::Refused(403, _) => true,
            _ => false,
        };
        if matches!(operation.outcome, Outcome::Accepted | Outcome::Maybe) {
            known.passwords.extend(new);
        }
        if is_retired && known.passwords.len() > 1 {
            known
                .passwords
                .retain(|password| Some(password) != operation.password.as_ref());
        }
    }

    fn learn(&self, operation: &mut Operation, reply: &Reply) {
        if operation.kind == Kind::Verify {
            let user = reply.header("x-auth-user-id").unwrap().parse().unwrap();
            let session = reply.header("x-auth-session-id").unwrap().to_owned();
            operation.seen = Some((user, session));
            return;
        }
        let body = reply.json();
        let count = [&body["revoked_count"], &body["cleaned_count"]];
        operation.count = count.iter().find_map(|n| n.as_i64()).unwrap_or_default();
        if let Some(listed) = body.as_array() {
            operation.count = i64::try_from(listed.len()).unwrap();
            operation.listed = listed
                .iter()
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect();
        }
        if let (Some(user), Some(session)) =
            (body["user"]["id"].as_i64(), body["session"]["id"].as_str())
        {
            operation.seen = Some((user, session.to_owned()));
            if let Some(text) = body["session_token"].as_str() {
                let token = self.history.add_token(Token {
                    text: text.to_owned(),
                    user: self.user.number,
                    session: session.to_owned(),
                    issued: operation.end,
                });
                operation.gives = Some(token);
                let mut known = self.user.known.lock().unwrap();
                known.tokens.push(token);
                if known.tokens.len() > 24 {
                    known.tokens.remove(0);
                }
            }
        }
    }
}

/// Sorts an answer. What the contract does not name is wrong.
fn judge(kind: Kind, reply: &Reply) -> Outcome {
    match reply.status {
        200 => Outcome::Accepted,
        503 => Outcome::Maybe,
        // The cleanup's way to say that, and the parser's to a connection that stood idle.
        500 if kind == Kind::Cleanup => Outcome::Maybe,
        408 if reply.body.is_empty() => Outcome::Maybe,
        401 | 403 | 404 => {
            let code = reply.json()["code"].as_str().unwrap_or_default().to_owned();
            let is_expected = match (kind, reply.status) {
                (Kind::Logout | Kind::Cleanup, _) => false,
                (Kind::Login, 401) => code == "invalid_credentials",
                (_, 401) => matches!(
                    code.as_str(),
                    "session_unknown" | "session_expired" | "session_revoked"
                ),
                (Kind::ChangePassword | Kind::Reauthenticate, 403) => code == "password_incorrect",
                (Kind::EndSession, 404) => code == "not_found",
                _ => false,
            };
            match is_expected {
                true => Outcome::Refused(reply.status, code),
                false => Outcome::Wrong(reply.status, code),
            }
        }
        status => Outcome::Wrong(status, reply.body.clone()),
    }
}

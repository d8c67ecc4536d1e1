//! Checks of the history alone: what clients may conclude from the answers that they got.

use std::collections::HashMap;

use super::record::{Kind, Micros, Operation, Outcome, Token};

fn is_accepted(operation: &Operation) -> bool {
    operation.outcome == Outcome::Accepted
}

/// Whether the answer shows that the token was valid. Log-out succeeds for any.
fn shows_life(operation: &Operation) -> bool {
    match operation.kind {
        Kind::Login | Kind::Logout | Kind::Cleanup => false,
        _ => match &operation.outcome {
            Outcome::Accepted => true,
            Outcome::Refused(status, _) => *status != 401,
            _ => false,
        },
    }
}

pub fn violations(
    operations: &[Operation],
    tokens: &[Token],
    ids: &[i64],
    cap: usize,
) -> Vec<String> {
    let mut found = Vec::new();
    for operation in operations {
        if let Outcome::Wrong(status, body) = &operation.outcome {
            found.push(format!(
                "P14: {:?} was answered with {status} {body}",
                operation.kind
            ));
        }
        if let (Some((user, session)), Some(token)) = (&operation.seen, operation.token) {
            let is_new = operation.kind == Kind::ChangePassword;
            if *user != ids[tokens[token].user] || !is_new && *session != tokens[token].session {
                found.push(format!(
                    "P10: {:?} showed another's session {session}",
                    operation.kind
                ));
            }
        }
        if operation.listed.len() > cap {
            found.push(format!(
                "P13: {} sessions were listed",
                operation.listed.len()
            ));
        }
    }
    found.extend(strangers(operations, tokens));
    found.extend(lives_after_death(operations, tokens));
    found.extend(successors(operations));
    found
}

/// P10: lists hold nobody else's sessions, and nobody ends them.
fn strangers(operations: &[Operation], tokens: &[Token]) -> Vec<String> {
    let owners: HashMap<&str, usize> = tokens
        .iter()
        .map(|t| (t.session.as_str(), t.user))
        .collect();
    let is_strange = |operation: &Operation, session: &str| {
        owners
            .get(session)
            .is_some_and(|owner| *owner != operation.user)
    };
    let listed = operations.iter().filter_map(|operation| {
        let strange = operation
            .listed
            .iter()
            .find(|session| is_strange(operation, session))?;
        Some(format!("P10: a list of another user showed {strange}"))
    });
    let ended = operations.iter().filter_map(|operation| {
        let target = operation.target.as_deref()?;
        (is_accepted(operation) && is_strange(operation, target))
            .then(|| format!("P10: a stranger ended {target}"))
    });
    listed.chain(ended).collect()
}

/// An answered ending of several of a user's sessions.
struct Ending<'a> {
    start: Micros,
    end: Micros,
    /// The session that stays.
    except: Option<&'a str>,
    /// The token that was handed out in place of all others.
    gives: Option<usize>,
}

/// P1, P2, P3: from when on a token is dead for sure, and that nothing is accepted with it later.
fn lives_after_death(operations: &[Operation], tokens: &[Token]) -> Vec<String> {
    let mut dead: Vec<(Micros, String)> = vec![(Micros::MAX, String::new()); tokens.len()];
    let mut kill = |token: usize, at: Micros, why: &dyn Fn() -> String| {
        if at < dead[token].0 {
            dead[token] = (at, why());
        }
    };
    let mut endings: HashMap<usize, Vec<Ending<'_>>> = HashMap::new();
    let mut ended: HashMap<&str, (Micros, Micros)> = HashMap::new();
    for operation in operations {
        let end = operation.end;
        if let Some(token) = operation.token {
            let is_refused = matches!(&operation.outcome, Outcome::Refused(401, _));
            let is_given_up = is_accepted(operation)
                && matches!(
                    operation.kind,
                    Kind::Logout | Kind::Rotate | Kind::Reauthenticate | Kind::ChangePassword
                );
            if is_refused || is_given_up {
                kill(token, end, &|| {
                    format!("{:?} {:?}", operation.kind, operation.outcome)
                });
            }
        }
        if !is_accepted(operation) {
            continue;
        }
        if let Some(superseded) = operation.superseded {
            kill(superseded, end, &|| "it was superseded".to_owned());
        }
        match operation.kind {
            Kind::LogoutAll | Kind::LogoutOthers | Kind::ChangePassword => {
                let own = operation.token.map(|token| tokens[token].session.as_str());
                endings.entry(operation.user).or_default().push(Ending {
                    start: operation.start,
                    end,
                    except: own.filter(|_| operation.kind == Kind::LogoutOthers),
                    gives: operation.gives,
                });
            }
            Kind::EndSession => {
                let target = operation.target.as_deref().unwrap();
                let first = ended.entry(target).or_insert((operation.start, end));
                if end < first.1 {
                    *first = (operation.start, end);
                }
            }
            _ => {}
        }
    }
    for endings in endings.values_mut() {
        endings.sort_by_key(|ending| ending.start);
    }
    for (index, token) in tokens.iter().enumerate() {
        if let Some((start, end)) = ended.get(token.session.as_str())
            && *start > token.issued
        {
            kill(index, *end, &|| {
                "its session was ended from the list".to_owned()
            });
        }
        let endings = endings
            .get(&token.user)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let first = endings.partition_point(|ending| ending.start <= token.issued);
        let mut best = Micros::MAX;
        for ending in &endings[first..] {
            if ending.start >= best {
                break;
            }
            if ending.except != Some(&token.session) && ending.gives != Some(index) {
                best = best.min(ending.end);
            }
        }
        kill(index, best, &|| "everything was ended".to_owned());
    }
    let late = operations
        .iter()
        .filter(|operation| shows_life(operation))
        .filter_map(|operation| {
            let (at, why) = &dead[operation.token?];
            (operation.start > *at).then(|| {
                format!(
                    "P1/P3: {:?} on instance {} was accepted {} µs after its token's death: {why}",
                    operation.kind,
                    operation.instance,
                    operation.start - at
                )
            })
        });
    late.collect()
}

/// P8: a token has one successor.
fn successors(operations: &[Operation]) -> Vec<String> {
    let mut count: HashMap<usize, usize> = HashMap::new();
    for operation in operations.iter().filter(|operation| is_accepted(operation)) {
        if let (Some(token), Some(_)) = (operation.token, operation.gives) {
            *count.entry(token).or_default() += 1;
        }
    }
    count
        .into_values()
        .filter(|count| *count > 1)
        .map(|count| format!("P8: a token has {count} successors"))
        .collect()
}

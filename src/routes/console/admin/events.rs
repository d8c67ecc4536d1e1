//! The ledger.

use actix_web::HttpResponse;
use actix_web::web::Query;
use askama::Template;

use super::super::super::error::ApiError;
use super::super::super::filters::{EventQuery, TimeInput};
use super::super::page::{Frame, show_or_refuse};
use super::super::view::{Choice, EventRow, choices};
use super::super::visit::Visit;
use super::found_or_why;
use crate::domain::event::{ActorKind, Event, EventKind};
use crate::domain::session::Reason;
use crate::services::admin::{self, Page};

#[derive(Template)]
#[template(path = "admin/events.html")]
struct ListPage {
    f: Frame,
    q: EventQuery,
    kinds: Vec<Choice>,
    reasons: Vec<Choice>,
    actors: Vec<Choice>,
    rows: Vec<EventRow>,
    is_filtered: bool,
    first: Option<String>,
    next: Option<String>,
}

impl ListPage {
    fn time(&self, field: &Option<String>) -> TimeInput {
        TimeInput::new(field)
    }

    fn value<'a>(&self, field: &'a Option<String>) -> &'a str {
        field.as_deref().unwrap_or_default()
    }
}

/// GET events
pub async fn list(visit: Visit) -> HttpResponse {
    let shown = async {
        let admin = visit.administrator().await?;
        let q = Query::<EventQuery>::from_query(visit.request.query_string())
            .map_err(|_unknown| super::super::super::malformed_query())?
            .into_inner();
        let (found, why) = found_or_why(search(&visit, &q).await)?;
        let f = visit.frame_of(&admin.user, &admin.caller).at("events");
        let f = f.with(why.as_ref());
        let (m, now) = (f.m, admin.caller.session.as_of);
        let page = ListPage {
            rows: found
                .items
                .into_iter()
                .map(|event| EventRow::new(m, event, now, None))
                .collect(),
            kinds: choices(EventKind::ALL, EventKind::as_str, |k| m.kind(k), &q.kind),
            reasons: choices(Reason::ALL, Reason::as_str, |r| m.reason(r), &q.reason),
            actors: choices(ActorKind::ALL, ActorKind::as_str, |a| m.actor(a), &q.actor),
            is_filtered: !EventQuery {
                cursor: None,
                ..q.clone()
            }
            .at(None)
            .is_empty(),
            first: q.cursor.is_some().then(|| q.at(None)),
            next: found.next.map(|next| q.at(Some(next.to_string()))),
            q,
            f,
        };
        Ok(show_or_refuse(why, &page))
    };
    shown.await.unwrap_or_else(|error| visit.fail(error))
}

async fn search(visit: &Visit, q: &EventQuery) -> Result<Page<Event, i64>, ApiError> {
    let (filter, cursor, limit) = (q.filter()?, q.cursor()?, q.limit()?);
    Ok(admin::find_events(&visit.context, filter, cursor, limit).await?)
}

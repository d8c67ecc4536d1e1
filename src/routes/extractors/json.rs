//! JSON bodies: application/json only, small, on time, and with the error envelope.

use std::future::{Ready, ready};
use std::marker::PhantomData;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::web::BytesMut;
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::super::error::ApiError;
use super::context;

/// Greatest size of a body: a password of 1,024 characters in JSON escapes needs 12 KiB.
const MAX_BODY: usize = 16 * 1024;

/// A body of type `T` that has yet to be read: whoever may not ask is told so before what is wrong
/// with the question.
pub struct JsonBody<T> {
    request: HttpRequest,
    payload: Payload,
    of: PhantomData<T>,
}

impl<T> FromRequest for JsonBody<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self {
            request: request.clone(),
            payload: payload.take(),
            of: PhantomData,
        }))
    }
}

impl<T: DeserializeOwned> JsonBody<T> {
    /// Reads it.
    pub async fn read(self) -> Result<T, ApiError> {
        check_type(&self.request)?;
        parse(&read_body(&self.request, self.payload).await?)
    }

    /// Reads it, or takes the default where there is none at all, or null.
    pub async fn read_if_any(self) -> Result<T, ApiError>
    where
        T: Default,
    {
        let body = read_body(&self.request, self.payload).await?;
        if body.is_empty() {
            return Ok(T::default());
        }
        check_type(&self.request)?;
        let body: Option<T> = parse(&body)?;
        Ok(body.unwrap_or_default())
    }
}

fn check_type(request: &HttpRequest) -> Result<(), ApiError> {
    match is_of_type(request, "application/json") {
        true => Ok(()),
        false => Err(ApiError::UnsupportedMediaType),
    }
}

/// A body, small and on time.
pub(in crate::routes) async fn read_body(
    request: &HttpRequest,
    payload: Payload,
) -> Result<BytesMut, ApiError> {
    let is_identity = |coding: &header::HeaderValue| {
        coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"identity")
    };
    if !request
        .headers()
        .get_all(header::CONTENT_ENCODING)
        .all(is_identity)
    {
        return Err(ApiError::Encoded);
    }
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| usize::try_from(length).is_ok_and(|length| length > MAX_BODY))
    {
        return Err(ApiError::TooLarge);
    }
    let limit = context(request)?.config.http.body_timeout;
    match tokio::time::timeout(limit, collect(payload)).await {
        Ok(body) => body,
        Err(_elapsed) => Err(ApiError::Slow),
    }
}

pub(super) fn is_of_type(request: &HttpRequest, wanted: &str) -> bool {
    let Some(Ok(content_type)) = request
        .headers()
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str())
    else {
        return false;
    };
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(wanted)
}

async fn collect(mut payload: Payload) -> Result<BytesMut, ApiError> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_broken| {
            ApiError::Malformed("The body could not be read to its end.".to_owned())
        })?;
        if body.len() + chunk.len() > MAX_BODY {
            return Err(ApiError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    // serde would take an array of the fields' values as well.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(ApiError::Malformed(
            "The body must be a JSON object.".to_owned(),
        ));
    }
    serde_json::from_slice(body).map_err(|error| ApiError::Malformed(explain(&error)))
}

/// What is wrong, without a word of the body: it may hold a password.
fn explain(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Data => {
            // serde quotes field names, which are ours or the caller's, and values, which may be secret.
            let text = error.to_string();
            let known = ["missing field `", "unknown field `", "duplicate field `"];
            let field = known.iter().find_map(|known| {
                let name = text.strip_prefix(known)?.split('`').next()?;
                let is_short =
                    name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                is_short.then(|| format!("{}{name}`", known))
            });
            field.unwrap_or_else(|| {
                format!("A value is of the wrong type or out of range at {place}.")
            })
        }
        _ => format!("The body is not well-formed JSON at {place}."),
    }
}

//! JSON bodies: application/json only, small, on time, and with the error envelope.

use actix_web::dev::Payload;
use actix_web::error::JsonPayloadError;
use actix_web::http::header;
use actix_web::web::BytesMut;
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use serde::de::DeserializeOwned;

use super::super::error::ApiError;
use super::context;

/// Greatest size of a body: a password of 1,024 characters in JSON escapes needs 12 KiB.
const MAX_BODY: usize = 16 * 1024;

/// A body of type `T`.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest for JsonBody<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            if !is_of_type(&request, "application/json") {
                return Err(ApiError::UnsupportedMediaType);
            }
            let body = read_body(&request, payload).await?;
            parse(&body).map(JsonBody)
        })
    }
}

/// A body of type `T`, or none at all (or null), which stands for the default.
#[derive(Debug)]
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequest for OptionalJson<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let body = read_body(&request, payload).await?;
            if body.is_empty() {
                return Ok(Self(T::default()));
            }
            if !is_of_type(&request, "application/json") {
                return Err(ApiError::UnsupportedMediaType);
            }
            let body: Option<T> = parse(&body)?;
            Ok(Self(body.unwrap_or_default()))
        })
    }
}

/// A body, small and on time.
pub(in crate::routes) async fn read_body(
    request: &HttpRequest,
    payload: Payload,
) -> Result<BytesMut, ApiError> {
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
        let chunk = chunk
            .map_err(|error| ApiError::Malformed(JsonPayloadError::Payload(error).to_string()))?;
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

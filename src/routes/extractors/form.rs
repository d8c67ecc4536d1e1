//! Forms of backends that speak OAuth: the body and who sends it.

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::LocalBoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::error::ApiError;
use super::api_key::{ApiKey, Service};
use super::{context, json};

/// A form of type `T`, from a caller that presented the service key in one of three ways: HTTP
/// Basic with any id, `X-API-Key`, or `client_secret` in the form.
#[derive(Debug)]
pub struct ServiceForm<T>(pub T);

#[derive(Deserialize)]
struct ClientSecret {
    client_secret: Option<String>,
}

impl<T: DeserializeOwned> FromRequest for ServiceForm<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let in_header = check_header(&request)?;
            if !json::is_of_type(&request, "application/x-www-form-urlencoded") {
                return Err(ApiError::NotAForm);
            }
            let body = json::read_body(&request, payload).await?;
            if in_header.is_none() {
                let ClientSecret { client_secret } = parse(&body)?;
                let presented = client_secret.unwrap_or_default();
                check(&request, &[presented.as_bytes()])?;
            }
            parse(&body).map(Self)
        })
    }
}

/// What is wrong is not repeated: the form holds secrets. Unknown parameters are ignored, repeated
/// ones refused, as OAuth has it (RFC 6749, 3.1).
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_urlencoded::from_bytes(body).map_err(|_secret| {
        ApiError::Malformed("The form is malformed, or lacks or repeats a parameter.".to_owned())
    })
}

/// Checks the keys in headers; `None` without one. Each that is there must be right, and
/// `Authorization` must be Basic.
fn check_header(request: &HttpRequest) -> Result<Option<()>, ApiError> {
    let headers = request.headers();
    let mut found = None;
    if headers.contains_key("x-api-key") {
        found = check_api_key(request).map(Some)?;
    }
    let mut values = headers.get_all(header::AUTHORIZATION);
    let Some(value) = values.next() else {
        return Ok(found);
    };
    let secret = basic_secret(value.as_bytes())
        .filter(|_| values.next().is_none())
        .ok_or(ApiError::ClientAuthentication)?;
    // OAuth's clients encode id and secret like a form first, others do not.
    let decoded = percent_decoded(&secret);
    check(request, &[&secret, &decoded]).map(Some)
}

fn check_api_key(request: &HttpRequest) -> Result<(), ApiError> {
    let mut values = request.headers().get_all("x-api-key");
    let (first, second) = (values.next(), values.next());
    let presented = first.map_or(&b""[..], |value| value.as_bytes());
    check(request, &[presented]).and(match second {
        Some(_) => Err(ApiError::ClientAuthentication),
        None => Ok(()),
    })
}

fn check(request: &HttpRequest, presented: &[&[u8]]) -> Result<(), ApiError> {
    let config = &context(request)?.config;
    let is_known = presented.iter().fold(false, |known, key| {
        known | ApiKey::<Service>::check(config, key).is_ok()
    });
    match is_known {
        true => Ok(()),
        false => Err(ApiError::ClientAuthentication),
    }
}

/// The part after the colon of Basic credentials; `None` for other schemes and malformed ones.
fn basic_secret(value: &[u8]) -> Option<Vec<u8>> {
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let pair = STANDARD.decode(rest.trim_ascii()).ok()?;
    let colon = pair.iter().position(|b| *b == b':')?;
    Some(pair[colon + 1..].to_vec())
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    // A form of one value is decoded as the value was encoded.
    let form = [b"secret=", text].concat();
    let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(&form).unwrap_or_default();
    match <[_; 1]>::try_from(pairs) {
        Ok([(_, value)]) => value.into_bytes(),
        Err(_no_single_value) => text.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_read_in_either_encoding() {
        let secret =
            |text: &str| basic_secret(format!("bAsIc {}", STANDARD.encode(text)).as_bytes());
        assert_eq!(secret("id:a:b").unwrap(), b"a:b");
        assert_eq!(secret(":k").unwrap(), b"k");
        assert_eq!(secret("no colon"), None);
        for malformed in ["Basic ***", "Basic", "Bearer abc", "BasicOmFi"] {
            assert_eq!(basic_secret(malformed.as_bytes()), None, "{malformed}");
        }
        assert_eq!(percent_decoded(b"a%2Bb%26c"), b"a+b&c");
        assert_eq!(percent_decoded(b"a&b"), b"a&b");
    }
}

//! One thing after another.

use actix_web::dev::Payload;
use actix_web::{Error, FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;

/// `B` of a request that passed `A`. Side by side in a handler's signature whichever fails first
/// would answer: a stranger with a wrong query would be told of the query. `B` has the body: whatever
/// reads it stands inside.
#[derive(Debug)]
pub struct Behind<A, B>(pub A, pub B);

impl<A: FromRequest + 'static, B: FromRequest + 'static> FromRequest for Behind<A, B> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let first = A::extract(&request).await.map_err(Into::into)?;
            let second = B::from_request(&request, &mut payload).await;
            Ok(Self(first, second.map_err(Into::into)?))
        })
    }
}

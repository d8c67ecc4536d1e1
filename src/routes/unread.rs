//! Chunked bodies that are not read to their end. After the answer the server would go on reading
//! such a body for as long as the client cares to send it; while the payload is held, it takes the
//! body for unread and closes the connection, as it does where the length was declared.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::HttpMessage as _;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::header::TRANSFER_ENCODING;
use actix_web::web::Bytes;
use futures_util::Stream;

type Shared = Rc<RefCell<Payload>>;

/// The payload of a chunked request, held until its answer has been sent.
pub(super) struct Unread(Shared);

impl Unread {
    /// Holds the payload of a request, if it is chunked, and leaves it to be read.
    pub(super) fn hold(request: &mut ServiceRequest) -> Option<Self> {
        if !request.headers().contains_key(TRANSFER_ENCODING) {
            return None;
        }
        let payload = Rc::new(RefCell::new(request.take_payload()));
        let reader = Box::pin(Reader(payload.clone()));
        request.set_payload(Payload::Stream { payload: reader });
        Some(Self(payload))
    }

    /// Lets the answer carry it.
    pub(super) fn until_sent(self, response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
        response.map_body(|_, body| {
            BoxBody::new(Carrier {
                body,
                _payload: self.0,
            })
        })
    }
}

struct Reader(Shared);

impl Stream for Reader {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(cx)
    }
}

struct Carrier {
    body: BoxBody,
    _payload: Shared,
}

impl MessageBody for Carrier {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}

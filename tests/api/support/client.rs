//! Answers, read whole.

use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Reply {
    /// Sends a request.
    pub async fn of(request: RequestBuilder) -> Self {
        Self::try_of(request).await.expect("an answer")
    }

    /// Sends a request that may go unanswered.
    pub async fn try_of(request: RequestBuilder) -> Result<Self, reqwest::Error> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Self {
            status,
            headers,
            body: response.text().await?,
        })
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error; its envelope is checked on the way.
    pub fn code(&self) -> String {
        let body = self.json();
        assert!(
            body["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty()),
            "{self:?}"
        );
        body["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no code: {self:?}"))
            .to_owned()
    }

    /// Status and code.
    pub fn refusal(&self) -> (u16, String) {
        (self.status, self.code())
    }

    /// A header, if there is exactly one.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?;
        assert!(values.next().is_none(), "several {name}: {self:?}");
        first.to_str().ok()
    }

    /// Every Set-Cookie.
    pub fn cookies(&self) -> Vec<&str> {
        self.headers
            .get_all("set-cookie")
            .iter()
            .map(|value| value.to_str().expect("ASCII"))
            .collect()
    }
}

/// The value that the one Set-Cookie gives our cookie.
pub fn cookie_value(reply: &Reply) -> Option<String> {
    let pair = reply.header("set-cookie")?.split(';').next()?;
    pair.split_once('=').map(|(_, value)| value.to_owned())
}

//! Which program sent the request: a browser, an app, a tool or a crawler.

use std::borrow::Cow;

use super::{names, patterns};

/// A program by the name people know it by.
pub(super) struct Client<'a> {
    pub(super) name: Cow<'a, str>,
    /// Crawlers are labelled by name alone.
    pub(super) is_robot: bool,
}

impl<'a> Client<'a> {
    fn named(name: impl Into<Cow<'a, str>>) -> Self {
        Self {
            name: name.into(),
            is_robot: false,
        }
    }

    fn robot(name: impl Into<Cow<'a, str>>) -> Self {
        Self {
            name: name.into(),
            is_robot: true,
        }
    }
}

/// Characters that end a product's name (RFC 9110, section 5.6.2).
const DELIMITERS: [char; 17] = [
    '(', ')', ',', '/', ':', ';', '<', '=', '>', '?', '@', '[', '\\', ']', '{', '}', '"',
];

/// Products that say how a page is drawn, not which program draws it.
const ENGINES: [&str; 12] = [
    "AppleWebKit",
    "Build",
    "Chrome",
    "Chromium",
    "Dalvik",
    "Electron",
    "Gecko",
    "Mobile",
    "Mozilla",
    "QtWebEngine",
    "Safari",
    "Version",
];

/// What people see for an app that shows web pages or calls the service without telling its name.
const NAMELESS_APP: &str = "App";

/// Names the program that sends this header.
pub(super) fn identify(user_agent: &str) -> Option<Client<'_>> {
    if starts_with(user_agent, "Mozilla/") {
        browser(user_agent)
    } else if starts_with(user_agent, "Dalvik/") {
        Some(Client::named(
            embedding_app(user_agent).unwrap_or(NAMELESS_APP),
        ))
    } else {
        first_product(user_agent).map(Client::named)
    }
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn browser(user_agent: &str) -> Option<Client<'_>> {
    if let Some(name) = compatible_robot(user_agent) {
        return Some(Client::robot(name));
    }
    // Before the patterns, which take some of these for the browser engine inside them.
    if let Some(name) = names::by_token(user_agent) {
        return Some(Client::named(name));
    }
    let family = patterns::browser(user_agent)?;
    if names::is_web_view(&family) {
        return Some(Client::named(
            embedding_app(user_agent).unwrap_or(NAMELESS_APP),
        ));
    }
    if names::is_robot(&family) {
        return Some(Client::robot(family));
    }
    Some(match names::of_family(&family) {
        Some(name) => Client::named(name),
        None => Client::named(family),
    })
}

/// The crawler in `(compatible; Googlebot/2.1; +http://…)`, the form that nearly all of them use.
fn compatible_robot(user_agent: &str) -> Option<&str> {
    let (_, rest) = user_agent.split_once("compatible;")?;
    let name = rest.split(DELIMITERS).next().unwrap_or_default();
    let name = before_version(name.trim());
    // Real browsers of old: `(compatible; MSIE 10.0; Windows NT 6.2)`.
    let is_browser = ["MSIE", "Windows", "Konqueror", "Mozilla"]
        .iter()
        .any(|browser| name.starts_with(browser));
    (!name.is_empty() && !is_browser).then_some(name)
}

/// The first product outside parentheses that is not an engine: apps that embed a browser put their
/// own name there.
fn embedding_app(user_agent: &str) -> Option<&str> {
    let mut depth: usize = 0;
    for word in user_agent.split_whitespace() {
        let is_comment = depth > 0 || word.starts_with(['(', '[']);
        depth += word.matches(['(', '[']).count();
        depth = depth.saturating_sub(word.matches([')', ']']).count());
        if !is_comment
            && let Some((name, _)) = word.split_once('/')
            && name.contains(char::is_alphabetic)
            && !ENGINES.contains(&name)
        {
            return Some(name);
        }
    }
    None
}

/// The name before the first version or comment: `MyApp` of `MyApp/2.1 (iPhone; iOS 18.1)`,
/// `Microsoft Office` of `Microsoft Office/16.0 (…)`.
fn first_product(user_agent: &str) -> Option<Cow<'_, str>> {
    let name = before_version(user_agent.split(DELIMITERS).next()?.trim_end());
    if name.is_empty() || name.eq_ignore_ascii_case("Mozilla") {
        return None;
    }
    if name.contains('%') {
        return Some(Cow::Owned(percent_decode(name).replace(DELIMITERS, " ")));
    }
    Some(Cow::Borrowed(name))
}

/// Ends the name at the first word that is a version (`3.11`, `v2`) or starts another product
/// (`MyApp Mozilla/5.0`).
fn before_version(name: &str) -> &str {
    let mut start = 0;
    for word in name.split(' ') {
        let digits = word.strip_prefix(['v', 'V']).unwrap_or(word);
        let is_version = digits.starts_with(|first: char| first.is_ascii_digit())
            && (digits.contains('.') || digits.chars().all(|digit| digit.is_ascii_digit()));
        if is_version || (start > 0 && word == "Mozilla") {
            return name[..start].trim_end();
        }
        start += word.len() + 1;
    }
    name
}

/// Undoes what Apple's networking does to an app's name: `MB%20Bank/2 CFNetwork/1331.0.3 …`.
fn percent_decode(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let decoded = match (first, tail) {
            (b'%', [high, low, ..]) => hex_digit(*high)
                .zip(hex_digit(*low))
                .map(|(high, low)| high * 16 + low),
            _ => None,
        };
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

//! What a session is called in its owner's list of devices: `Chrome on Windows`.
//!
//! The label is made once, at login, from the `User-Agent` header. It never has a version: browsers
//! freeze theirs, and a wrong one alarms people. Some things the header does not tell, among them
//! an iPad that asks for desktop pages and Brave; so callers may send a label of their own, and
//! users may rename.

mod client;
mod names;
mod patterns;
mod system;
#[cfg(test)]
mod tests;
mod text;

use super::text::MAX_LABEL_CHARS;

/// How much of the header is looked at. Real ones are shorter; without a limit a long one would
/// cost time at each login.
const MAX_INPUT_BYTES: usize = 1024;
const MAX_NAME_CHARS: usize = 40;
const MAX_SYSTEM_CHARS: usize = 20;
const JOINT: &str = " on ";
const _: () = assert!(MAX_NAME_CHARS + JOINT.len() + MAX_SYSTEM_CHARS <= MAX_LABEL_CHARS);

/// Names the client and its system for people: `Safari on iPhone`, `MyApp on Android`, `Googlebot`;
/// `None` if unknown.
///
/// Takes the header as it came: bytes that are not UTF-8 never fail, and only the first KiB counts.
/// The label has at most 64 characters, at least one letter, and no control, bidirectional or
/// invisible characters. It can still hold any other character the client chose, so whoever shows
/// it must escape it like any input.
#[must_use]
pub fn label(user_agent: &[u8]) -> Option<String> {
    let user_agent = text::decode(user_agent, MAX_INPUT_BYTES);
    let client = client::identify(&user_agent)?;
    let mut label = text::clean(&client.name, MAX_NAME_CHARS);
    if !label.contains(char::is_alphabetic) {
        return None;
    }
    // A crawler's header copies some phone's or desktop's; its name says all there is to know.
    if !client.is_robot
        && let Some(system) = system::identify(&user_agent)
    {
        label.push_str(JOINT);
        label.push_str(&text::clean(&system, MAX_SYSTEM_CHARS));
    }
    Some(label)
}

/// Compiles the patterns now (some 50 ms), so that the first login need not wait for it.
pub fn prepare() {
    patterns::prepare();
}

//! From header bytes to text that is safe to store and to show.

use std::borrow::Cow;

use crate::domain::text::is_unprintable;

/// The first `limit` bytes as text, without cutting a character in two and without space around it.
pub(super) fn decode(bytes: &[u8], limit: usize) -> Cow<'_, str> {
    let mut end = bytes.len().min(limit);
    while end < bytes.len() && end > 0 && is_continuation(bytes[end]) {
        end -= 1;
    }
    String::from_utf8_lossy(bytes[..end].trim_ascii())
}

/// Whether the byte is a later byte of a UTF-8 character.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// At most `limit` characters, without invisible ones and with single spaces.
pub(super) fn clean(text: &str, limit: usize) -> String {
    let mut cleaned = String::new();
    let mut length = 0;
    let mut space = false;
    for character in text.chars() {
        if character.is_whitespace() {
            space = length > 0;
            continue;
        }
        if is_invisible(character) {
            continue;
        }
        if length + usize::from(space) >= limit {
            break;
        }
        if space {
            cleaned.push(' ');
            length += 1;
            space = false;
        }
        cleaned.push(character);
        length += 1;
    }
    cleaned
}

/// Beside the unprintable ones: other format characters, fillers, private use, and the sign for
/// undecodable bytes. With them one label could pass for another.
fn is_invisible(character: char) -> bool {
    is_unprintable(character)
        || matches!(character,
            '\u{00AD}' | '\u{034F}' | '\u{0600}'..='\u{0605}' | '\u{061C}' | '\u{06DD}' | '\u{070F}'
            | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{2800}'
            | '\u{3164}' | '\u{E000}'..='\u{F8FF}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFF}' | '\u{E0000}'..='\u{10FFFF}')
}

//! Rules for text that people send.

/// Characters that a device label may have.
pub const MAX_LABEL_CHARS: usize = 64;
/// Characters that a note may have.
pub const MAX_NOTE_CHARS: usize = 500;

/// Text for display, trimmed: 1 to `max` characters on one line.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn display_text(text: &str, max: usize) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if text.chars().count() > max {
        return Err(format!("must have at most {max} characters"));
    }
    if text.chars().any(is_unprintable) {
        return Err("must not hold control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// Control characters, and those that reorder or hide the text around them.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

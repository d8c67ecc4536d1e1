//! Rules for text that people send.

use super::problem::Problem;

/// Characters that a device label may have.
pub const MAX_LABEL_CHARS: usize = 64;
/// Characters that a note may have.
pub const MAX_NOTE_CHARS: usize = 500;

/// Text for display, trimmed: 1 to `max` characters on one line.
///
/// # Errors
/// What is wrong.
pub fn display_text(text: &str, max: usize) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.chars().count() > max {
        return Err(Problem::TooLong(max));
    }
    if has_unprintable(text) {
        return Err(Problem::Unprintable);
    }
    Ok(text.to_owned())
}

/// Whether a text holds what is unprintable. Joiners are part of words (Persian) and of pictures
/// made of several; they are allowed where they have something to join.
fn has_unprintable(text: &str) -> bool {
    let is_visible = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && !is_unprintable(c));
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let joins = matches!(c, '\u{200C}' | '\u{200D}')
            && is_visible(before)
            && is_visible(rest.clone().next());
        if is_unprintable(c) && !joins {
            return true;
        }
        before = Some(c);
    }
    false
}

/// Control characters, and those that reorder or hide the text around them.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joiners_are_allowed_between_what_they_join() {
        for fine in [
            "👩\u{200D}💻 laptop",
            "می\u{200C}خواهم",
            "❤\u{FE0F}\u{200D}🔥",
        ] {
            assert_eq!(display_text(fine, 64), Ok(fine.to_owned()));
        }
        for bad in [
            "\u{200D}a",
            "a\u{200D}",
            "a\u{200C}\u{200D}b",
            "a \u{200D}b",
            "a\u{200C} b",
            "\u{200C}",
            "a\u{200B}b",
            "a\u{200E}b",
            "a\u{202E}b",
        ] {
            assert_eq!(display_text(bad, 64), Err(Problem::Unprintable), "{bad:?}");
        }
    }
}

//! The embedded browser and system patterns of uap-core.

use std::{borrow::Cow, sync::LazyLock};

use ua_parser::{Extractor, Regexes};

/// Made by `script/user_agent_patterns`; its licence is in `NOTICE`.
const PATTERNS: &str = include_str!("../../../data/user_agent_patterns.json");

/// `None` if the embedded file were broken: a missing label must not fail a login. A test makes
/// sure that it is not.
static EXTRACTOR: LazyLock<Option<Extractor<'static>>> = LazyLock::new(|| {
    let patterns: Regexes<'static> = serde_json::from_str(PATTERNS).ok()?;
    Extractor::try_from(patterns).ok()
});

/// Compiles the patterns, unless that was done before.
pub(super) fn prepare() {
    LazyLock::force(&EXTRACTOR);
}

/// Whether the embedded patterns could be compiled.
#[cfg(test)]
pub(super) fn is_usable() -> bool {
    EXTRACTOR.is_some()
}

/// The name uap-core has for the browser, such as `Chrome Mobile iOS`.
pub(super) fn browser(user_agent: &str) -> Option<Cow<'_, str>> {
    let found = EXTRACTOR.as_ref()?.ua.extract(user_agent)?;
    Some(found.family).filter(|family| !family.is_empty())
}

/// The name uap-core has for the system, such as `Mac OS X`.
pub(super) fn system(user_agent: &str) -> Option<Cow<'_, str>> {
    let found = EXTRACTOR.as_ref()?.os.extract(user_agent)?;
    Some(found.os).filter(|system| !system.is_empty() && system != "Other")
}

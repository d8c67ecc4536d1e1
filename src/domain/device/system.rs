//! Which kind of device the request came from.

use std::borrow::Cow;

use super::patterns;

/// Devices that the patterns take for the system they are built on, or do not know.
const BEFORE_PATTERNS: [(&str, &str); 6] = [
    ("; Xbox", "Xbox"),
    ("PlayStation", "PlayStation"),
    ("PLAYSTATION", "PlayStation"),
    ("Nintendo", "Nintendo"),
    ("OpenHarmony", "HarmonyOS"),
    ("; Quest", "Meta Quest"),
];

/// Systems as apps and tools name them where browsers write otherwise.
const AFTER_PATTERNS: [(&str, &str); 5] = [
    ("macOS", "macOS"),
    ("Macintosh", "macOS"),
    ("Darwin/", "macOS"),
    ("darwin", "macOS"),
    ("CrOS", "ChromeOS"),
];

/// Names the system: `macOS`, `Windows`, `Linux`, `iPhone`, `iPad`, `Android`, `ChromeOS`, and
/// rarer ones by name.
pub(super) fn identify(user_agent: &str) -> Option<Cow<'_, str>> {
    if let Some(name) = find(user_agent, &BEFORE_PATTERNS) {
        return Some(name.into());
    }
    let Some(system) = patterns::system(user_agent) else {
        return find(user_agent, &AFTER_PATTERNS).map(Cow::Borrowed);
    };
    let name = match &*system {
        "iOS" => return apple_device(user_agent).map(Cow::Borrowed),
        "Mac OS X" | "Mac OS" => "macOS",
        "Chrome OS" => "ChromeOS",
        "ATV OS X" | "tvOS" => "Apple TV",
        "WatchOS" => "Apple Watch",
        "FireHbbTV" => "Fire TV",
        "Web0S" => "webOS",
        "Arch Linux" | "BackTrack" | "CentOS" | "Debian" | "Fedora" | "Gentoo" | "Kubuntu"
        | "Linux Mint" | "Lubuntu" | "Mageia" | "Mandriva" | "PCLinuxOS" | "Puppy" | "Red Hat"
        | "Slackware" | "SUSE" | "Ubuntu" | "openSUSE" => "Linux",
        _ => return Some(system),
    };
    Some(name.into())
}

fn find(user_agent: &str, names: &[(&str, &'static str)]) -> Option<&'static str> {
    names
        .iter()
        .find(|(token, _)| user_agent.contains(token))
        .map(|&(_, name)| name)
}

/// `None` without a token that says so: Apple's own networking sends the same header from phones
/// and from newer Macs, which the patterns take for phones.
fn apple_device(user_agent: &str) -> Option<&'static str> {
    // iPhone after the others: their headers can have `iPhone OS` in them.
    const DEVICES: [(&str, &str); 5] = [
        ("ipad", "iPad"),
        ("ipod", "iPod"),
        ("iphone", "iPhone"),
        ("ios", "iOS"),
        ("(x86_64)", "macOS"),
    ];
    find(&user_agent.to_ascii_lowercase(), &DEVICES)
}

//! Names as people know them, for what headers and patterns call otherwise.

/// Apps and browsers that the patterns miss, or take for the engine inside them. The first that
/// matches counts.
const BY_TOKEN: [(&str, &str); 42] = [
    ("FBAN/Messenger", "Messenger"),
    ("FB_IAB/MESSENGER", "Messenger"),
    ("FB_IAB/Orca-Android", "Messenger"),
    ("FBAN/", "Facebook"),
    ("FBAV/", "Facebook"),
    ("FB_IAB/", "Facebook"),
    ("Instagram ", "Instagram"),
    ("Barcelona ", "Threads"),
    ("[WA4A/", "WhatsApp"),
    ("MicroMessenger/", "WeChat"),
    ("wxwork/", "WeCom"),
    (" Line/", "LINE"),
    ("KAKAOTALK", "KakaoTalk"),
    ("NAVER(", "NAVER"),
    ("musical_ly_", "TikTok"),
    (" trill_", "TikTok"),
    (" aweme_", "Douyin"),
    ("BytedanceWebview/", "TikTok"),
    ("Snapchat/", "Snapchat"),
    ("[LinkedInApp]", "LinkedIn"),
    (" LinkedIn/", "LinkedIn"),
    (" Teams/", "Microsoft Teams"),
    (" discord/", "Discord"),
    (" GSA/", "Google app"),
    (" Ddg/", "DuckDuckGo"),
    (" DuckDuckGo/", "DuckDuckGo"),
    (" Focus/", "Firefox Focus"),
    (" Klar/", "Firefox Klar"),
    (" OPT/", "Opera"),
    (" OPX/", "Opera"),
    (" OPR/", "Opera"),
    (" Brave/", "Brave"),
    (" Ecosia ", "Ecosia"),
    (" HeyTapBrowser/", "HeyTap Browser"),
    (" HuaweiBrowser/", "Huawei Browser"),
    (" VivoBrowser/", "Vivo Browser"),
    (" Quark/", "Quark"),
    (" UCBrowser/", "UC Browser"),
    (" YaBrowser/", "Yandex Browser"),
    ("(PlayStation", CONSOLE_BROWSER),
    ("(PLAYSTATION", CONSOLE_BROWSER),
    ("(Nintendo", CONSOLE_BROWSER),
];

/// Game consoles have one browser each, without a name that anyone knows.
const CONSOLE_BROWSER: &str = "Browser";

/// The name of an app or browser that has a mark of its own in the header.
pub(super) fn by_token(user_agent: &str) -> Option<&'static str> {
    BY_TOKEN
        .iter()
        .find(|(token, _)| user_agent.contains(token))
        .map(|&(_, name)| name)
}

/// Whether uap-core means a browser engine inside some app.
pub(super) fn is_web_view(family: &str) -> bool {
    // A bare AppleWebKit is called Apple Mail there, but any Mac app with a web view sends it.
    matches!(
        family,
        "Chrome Mobile WebView" | "Mobile Safari UI/WKWebView" | "Electron" | "Apple Mail"
    )
}

/// The name for a browser that uap-core calls otherwise; `None` where its own is good.
pub(super) fn of_family(family: &str) -> Option<&'static str> {
    Some(match family {
        "Chrome Mobile" | "Chrome Mobile iOS" | "Chrome Frame" => "Chrome",
        "Mobile Safari" | "WebKit Nightly" => "Safari",
        "Firefox Mobile" | "Firefox iOS" | "Firefox Alpha" | "Firefox Beta" => "Firefox",
        "Edge Mobile" => "Edge",
        "Opera Mobile" | "Opera Mini" | "Opera Tablet" | "Opera Coast" | "Opera Neon" => "Opera",
        "IE" | "IE Mobile" | "IE Large Screen" | "MSIE" => "Internet Explorer",
        "Android" => "Android Browser",
        "Amazon Silk" => "Silk",
        "Oculus Browser" => "Meta Quest Browser",
        "MiuiBrowser" => "Mi Browser",
        "QQ Browser Mobile" | "QQ Browser Mini" => "QQ Browser",
        "Slack Desktop Client" => "Slack",
        "HeadlessChrome" => "Headless Chrome",
        "NetFront NX" => "NetFront",
        _ => return None,
    })
}

/// Whether the name is a crawler's.
pub(super) fn is_robot(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["bot", "crawl", "spider", "slurp"]
        .iter()
        .any(|part| name.contains(part))
}

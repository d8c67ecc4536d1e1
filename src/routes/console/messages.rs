//! Every text of the pages, in every language: the one catalogue. A text that is missing in one
//! language does not compile.

use crate::domain::event::{ActorKind, EventKind};
use crate::domain::search::State;
use crate::domain::session::Reason;

macro_rules! catalogue {
    ($($key:ident: $en:literal / $ja:literal,)+) => {
        /// The texts of one language; `{}` stands for a number or a name.
        #[derive(Debug)]
        pub struct Messages { $(pub $key: &'static str,)+ }
        static EN: Messages = Messages { $($key: $en,)+ };
        static JA: Messages = Messages { $($key: $ja,)+ };
    };
}

catalogue! {
    lang: "en" / "ja",
    skip: "Skip to content" / "本文へ移動",
    sign_in: "Sign in" / "サインイン",
    sign_out: "Sign out" / "サインアウト",
    sign_up: "Create an account" / "アカウントを作成",
    email: "E-mail" / "メールアドレス",
    password: "Password" / "パスワード",
    new_password: "New password" / "新しいパスワード",
    current_password: "Current password" / "現在のパスワード",
    remember_me: "Keep me signed in on this device" / "この端末でサインインしたままにする",
    no_account: "No account yet?" / "アカウントをお持ちでない場合",
    have_account: "Already have an account?" / "アカウントをお持ちの場合",
    admin_intro: "For administrators." / "管理者用です。",
    account_intro: "See your devices and end sessions you no longer need." / "サインイン中の端末を確認し、不要なセッションを終了できます。",
    administration: "Administration" / "管理",
    account: "Account" / "アカウント",
    overview: "Overview" / "概要",
    sessions: "Sessions" / "セッション",
    session: "Session" / "セッション",
    users: "Users" / "ユーザー",
    user: "User" / "ユーザー",
    events: "Events" / "イベント",
    cleanup: "Cleanup" / "クリーンアップ",
    devices: "Devices" / "端末",
    device: "Device" / "端末",
    history: "History" / "履歴",
    active_now: "Active sessions" / "有効なセッション",
    logins_today: "Log-ins today" / "本日のログイン",
    failures_today: "Failed log-ins today" / "本日のログイン失敗",
    endings_today: "Sessions ended today" / "本日終了したセッション",
    per_day: "Log-ins per day" / "日別ログイン数",
    logins: "Log-ins" / "ログイン",
    failures: "Failures" / "失敗",
    endings_by_reason: "Why sessions ended" / "セッション終了の理由",
    last_days: "Last 14 days, UTC" / "過去14日間 (UTC)",
    last_cleanup: "Last cleanup" / "前回のクリーンアップ",
    oldest_kept: "Oldest ended session kept" / "保持中の最古の終了済みセッション",
    none: "None" / "なし",
    nothing_yet: "Nothing here yet." / "まだ何もありません。",
    nothing_found: "Nothing matches. Widen the filter." / "一致するものがありません。条件を広げてください。",
    filter: "Filter" / "絞り込み",
    apply: "Apply" / "適用",
    clear: "Clear" / "解除",
    any: "Any" / "すべて",
    state: "State" / "状態",
    active: "Active" / "有効",
    expired: "Expired" / "期限切れ",
    revoked: "Ended" / "終了",
    reason: "Reason" / "理由",
    address: "Address or network" / "アドレスまたはネットワーク",
    from: "From" / "接続元",
    auth_level: "Authentication" / "認証方式",
    auth_password: "Password" / "パスワード",
    auth_mfa: "Second factor" / "二要素認証",
    user_id: "User id" / "ユーザーID",
    session_id: "Session id" / "セッションID",
    created_after: "Begun after (UTC)" / "開始日時 以降 (UTC)",
    created_before: "Begun before (UTC)" / "開始日時 以前 (UTC)",
    seen_after: "Seen after (UTC)" / "最終利用 以降 (UTC)",
    seen_before: "Seen before (UTC)" / "最終利用 以前 (UTC)",
    occurred_after: "After (UTC)" / "以降 (UTC)",
    occurred_before: "Before (UTC)" / "以前 (UTC)",
    begun: "Begun" / "開始",
    last_seen: "Last seen" / "最終利用",
    authenticated: "Password proved" / "認証日時",
    expires: "Expires" / "有効期限",
    expires_at_latest: "Expires at the latest" / "最終期限",
    ended: "Ended" / "終了日時",
    remembered: "Remembered" / "サインイン保持",
    yes: "Yes" / "はい",
    no: "No" / "いいえ",
    unknown_device: "Unknown device" / "不明な端末",
    this_device: "This device" / "この端末",
    no_address: "No address kept" / "アドレスなし",
    next_page: "Older" / "次へ",
    first_page: "Newest" / "最新へ",
    end_session: "End this session" / "このセッションを終了",
    end_all_of_user: "End all of this user's sessions" / "このユーザーの全セッションを終了",
    end_matching: "End all that match…" / "一致するものをすべて終了…",
    preview_title: "End all that match?" / "一致するセッションをすべて終了しますか？",
    preview_sessions: "sessions would end" / "件のセッションが終了します",
    preview_users: "users would be signed out there" / "人のユーザーが対象です",
    preview_own: "Your own session stays. Sessions that begin from now on stay as well." / "ご自身のセッションと、これ以降に開始されたセッションは終了しません。",
    preview_everything: "There is no filter: this is everybody." / "絞り込みがありません。全員が対象です。",
    preview_confirm: "End them" / "終了する",
    cancel: "Cancel" / "キャンセル",
    cannot_undo: "This cannot be undone; they can sign in again." / "元に戻せません。再度サインインは可能です。",
    note: "Remark for the ledger (optional)" / "記録用メモ (任意)",
    note_column: "Remark" / "メモ",
    find_user: "E-mail or id" / "メールアドレスまたはID",
    find: "Find" / "検索",
    role: "Role" / "権限",
    role_admin: "Administrator" / "管理者",
    role_user: "User" / "ユーザー",
    member_since: "Member since" / "登録日",
    disabled: "Disabled" / "無効",
    enabled: "Enabled" / "有効",
    disable: "Disable the account" / "アカウントを無効にする",
    disable_help: "All sessions end, and log-ins fail, until it is enabled again." / "すべてのセッションが終了し、再び有効にするまでログインできません。",
    enable: "Enable the account" / "アカウントを有効にする",
    all_sessions_of_user: "All sessions, ended ones too" / "終了分も含む全セッション",
    all_events_of_user: "All events" / "すべてのイベント",
    when: "When" / "日時",
    what: "What" / "内容",
    by: "By" / "実行者",
    kind: "Kind" / "種類",
    actor_user: "User" / "ユーザー",
    actor_admin: "Administrator" / "管理者",
    actor_service: "Backend" / "バックエンド",
    actor_system: "System" / "システム",
    due_now: "Due now" / "現在の対象",
    due_expired: "Sessions to mark as expired" / "期限切れにするセッション",
    due_purged: "Ended sessions to delete" / "削除する終了済みセッション",
    due_addresses: "Addresses to forget" / "消去するアドレス",
    due_events: "Events to delete" / "削除するイベント",
    run_now: "Clean up now" / "今すぐ実行",
    past_runs: "Past runs" / "実行履歴",
    trigger: "Started by" / "起動元",
    run_expired: "Expired" / "期限切れ",
    run_purged: "Deleted" / "削除",
    run_addresses: "Addresses" / "アドレス",
    run_events: "Events" / "イベント",
    outcome: "Outcome" / "結果",
    run_complete: "Complete" / "完了",
    run_partial: "Time ran out; the next run goes on" / "時間切れ。次回に続行します",
    run_failed: "Failed" / "失敗",
    run_running: "Running" / "実行中",
    rename: "Rename" / "名前を変更",
    name: "Name" / "名前",
    save: "Save" / "保存",
    end_others: "Sign out all other devices" / "他の端末をすべてサインアウト",
    end_all: "Sign out everywhere" / "すべての端末でサインアウト",
    end_others_help: "This device stays signed in." / "この端末はサインインしたままです。",
    end_all_help: "This device too." / "この端末も含まれます。",
    change_password: "Change password" / "パスワードを変更",
    change_password_help: "Every other device is signed out." / "他の端末はすべてサインアウトされます。",
    done_signed_out: "You are signed out." / "サインアウトしました。",
    done_session_ended: "Sessions ended: {}." / "{} 件のセッションを終了しました。",
    done_part_ended: "Sessions ended: {}. More remain; end the rest." / "{} 件のセッションを終了しました。残りがあるため、再度実行してください。",
    done_user_disabled: "Account disabled; sessions ended: {}." / "アカウントを無効にし、{} 件のセッションを終了しました。",
    done_user_enabled: "Account enabled." / "アカウントを有効にしました。",
    done_cleaned: "Cleanup done; rows worked on: {}." / "クリーンアップ完了。{} 行を処理しました。",
    done_renamed: "Renamed." / "名前を変更しました。",
    done_password_changed: "Password changed; every other device is signed out." / "パスワードを変更し、他の端末をサインアウトしました。",
    done_signed_up: "Account made. Sign in now." / "アカウントを作成しました。サインインしてください。",
    err_title: "That did not work" / "処理できませんでした",
    err_credentials: "E-mail and password do not fit. Check both and try again." / "メールアドレスまたはパスワードが正しくありません。",
    err_throttled: "Too many attempts. Wait {} seconds, then try again." / "試行回数が多すぎます。{} 秒後にもう一度お試しください。",
    err_email_taken: "There is an account with this e-mail already. Sign in instead." / "このメールアドレスは登録済みです。サインインしてください。",
    err_sign_up_disabled: "Accounts are not made here. Ask your administrator." / "ここではアカウントを作成できません。管理者にお問い合わせください。",
    err_password_rejected: "Choose another password: {}" / "別のパスワードを選んでください: {}",
    err_password_incorrect: "The current password is not right. Nothing was changed." / "現在のパスワードが正しくありません。変更されていません。",
    err_password_not_set: "This account has no password here." / "このアカウントにはパスワードがありません。",
    err_field: "Check the field {}" / "入力内容をご確認ください: {}",
    err_not_found: "There is nothing here. It may have been deleted; go back to the list." / "見つかりません。削除された可能性があります。一覧へお戻りください。",
    err_forbidden: "Only administrators may see this. The attempt was recorded." / "管理者のみ閲覧できます。この操作は記録されました。",
    err_cross_origin: "This form was sent from elsewhere or is out of date. Open the page again and repeat." / "フォームが無効または期限切れです。ページを開き直してもう一度お試しください。",
    err_too_broad: "This filter takes too long. Narrow it: name a user, or a shorter time." / "検索に時間がかかりすぎます。ユーザーや期間を絞ってください。",
    err_count_changed: "More sessions match now than were counted. Look again, then repeat." / "対象の件数が増えました。もう一度確認してください。",
    err_reauthenticate: "Sign out and in again first: this needs a fresh password." / "再度サインインしてから実行してください。",
    err_unavailable: "The service cannot answer at the moment. Try again shortly." / "ただいま応答できません。しばらくしてからお試しください。",
    err_other: "Something went wrong on our side. Try again, and tell the operator if it stays." / "問題が発生しました。解消しない場合は運営者にお知らせください。",
    sess_expired: "Your session has expired. Sign in again." / "セッションの有効期限が切れました。再度サインインしてください。",
    sess_ended: "Your session has ended: {}. Sign in again." / "セッションが終了しました ({})。再度サインインしてください。",
    ago_now: "just now" / "たった今",
    ago_minutes: "{} min ago" / "{} 分前",
    ago_hours: "{} h ago" / "{} 時間前",
    ago_days: "{} d ago" / "{} 日前",
    in_moments: "in a moment" / "まもなく",
    in_minutes: "in {} min" / "{} 分後",
    in_hours: "in {} h" / "{} 時間後",
    in_days: "in {} d" / "{} 日後",
    r_user_logout: "Signed out" / "サインアウト",
    r_logout_all: "Signed out everywhere" / "全端末サインアウト",
    r_logout_others: "Signed out from another device" / "他の端末からサインアウト",
    r_device_revoked: "Ended from the device list" / "端末一覧から終了",
    r_password_changed: "Password changed" / "パスワード変更",
    r_expired: "Expired" / "期限切れ",
    r_superseded: "Replaced by a new sign-in" / "新しいサインインで置換",
    r_session_limit: "Too many devices" / "端末数の上限",
    r_admin_revoked: "Ended by an administrator" / "管理者が終了",
    r_user_disabled: "Account disabled" / "アカウント無効化",
    r_user_deleted: "Account deleted" / "アカウント削除",
    r_service_revoked: "Ended by a backend" / "バックエンドが終了",
    k_session_created: "Signed in" / "サインイン",
    k_session_revoked: "Session ended" / "セッション終了",
    k_session_expired: "Session expired" / "セッション期限切れ",
    k_session_rotated: "Token renewed" / "トークン更新",
    k_reauthenticated: "Password proved again" / "再認証",
    k_login_failed: "Sign-in failed" / "サインイン失敗",
    k_user_created: "Account made" / "アカウント作成",
    k_password_changed: "Password changed" / "パスワード変更",
    k_user_disabled: "Account disabled" / "アカウント無効化",
    k_user_enabled: "Account enabled" / "アカウント有効化",
    k_user_deleted: "Account deleted" / "アカウント削除",
    k_access_denied: "Access denied" / "アクセス拒否",
}

impl Messages {
    /// The language that a browser prefers, of those there are; English where it says nothing.
    pub fn preferred(accept_language: &str) -> &'static Self {
        let mut best: (&'static Self, f32) = (&EN, 0.0);
        for item in accept_language.split(',') {
            let mut parts = item.split(';').map(str::trim);
            let tag = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts
                .find_map(|part| part.strip_prefix("q="))
                .map_or(1.0, |q| q.parse().unwrap_or(0.0));
            let language = match tag.split('-').next() {
                Some("ja") => &JA,
                Some("en" | "*") => &EN,
                _ => continue,
            };
            if quality > best.1 {
                best = (language, quality);
            }
        }
        best.0
    }

    /// A reason for an ending.
    pub fn reason(&self, reason: Reason) -> &'static str {
        match reason {
            Reason::UserLogout => self.r_user_logout,
            Reason::LogoutAll => self.r_logout_all,
            Reason::LogoutOthers => self.r_logout_others,
            Reason::DeviceRevoked => self.r_device_revoked,
            Reason::PasswordChanged => self.r_password_changed,
            Reason::Expired => self.r_expired,
            Reason::Superseded => self.r_superseded,
            Reason::SessionLimit => self.r_session_limit,
            Reason::AdminRevoked => self.r_admin_revoked,
            Reason::UserDisabled => self.r_user_disabled,
            Reason::UserDeleted => self.r_user_deleted,
            Reason::ServiceRevoked => self.r_service_revoked,
        }
    }

    /// What happened.
    pub fn kind(&self, kind: EventKind) -> &'static str {
        match kind {
            EventKind::SessionCreated => self.k_session_created,
            EventKind::SessionRevoked => self.k_session_revoked,
            EventKind::SessionExpired => self.k_session_expired,
            EventKind::SessionRotated => self.k_session_rotated,
            EventKind::Reauthenticated => self.k_reauthenticated,
            EventKind::LoginFailed => self.k_login_failed,
            EventKind::UserCreated => self.k_user_created,
            EventKind::PasswordChanged => self.k_password_changed,
            EventKind::UserDisabled => self.k_user_disabled,
            EventKind::UserEnabled => self.k_user_enabled,
            EventKind::UserDeleted => self.k_user_deleted,
            EventKind::AccessDenied => self.k_access_denied,
        }
    }

    /// Who did it.
    pub fn actor(&self, actor: ActorKind) -> &'static str {
        match actor {
            ActorKind::User => self.actor_user,
            ActorKind::Admin => self.actor_admin,
            ActorKind::Service => self.actor_service,
            ActorKind::System => self.actor_system,
        }
    }

    /// A session's state.
    pub fn state(&self, state: State) -> &'static str {
        match state {
            State::Active => self.active,
            State::Expired => self.expired,
            State::Revoked => self.revoked,
        }
    }
}

/// A text with its `{}` filled in.
pub fn fill(text: &str, value: impl std::fmt::Display) -> String {
    text.replacen("{}", &value.to_string(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_language_is_the_one_with_the_greatest_quality() {
        for (header, lang) in [
            ("", "en"),
            ("ja", "ja"),
            ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
            ("en-US,en;q=0.9,ja;q=0.8", "en"),
            ("fr-FR,ja;q=0.4,en;q=0.3", "ja"),
            ("fr", "en"),
            ("ja;q=0,en;q=0", "en"),
            ("ja;q=x;;,,=", "en"),
        ] {
            assert_eq!(Messages::preferred(header).lang, lang, "{header}");
        }
    }
}

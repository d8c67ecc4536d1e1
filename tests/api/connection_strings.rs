//! Connection strings that cannot be read, and that hold a password.

use crate::support::process::run_bare;

const SECRETS: [&str; 3] = ["SECRET", "SEC", "RETPW"];

#[test]
fn a_connection_string_that_cannot_be_read_ends_the_start_and_is_never_repeated() {
    let wrong = [
        "mysql://u:SECRETPW@127.0.0.1:1/d",
        "\"postgres://u:SECRETPW@127.0.0.1:1/d\"",
        "'postgres://u:SECRETPW@127.0.0.1:1/d'",
        "postgres://u:SECRET%PW@127.0.0.1:1/d",
        "postgres://u:SECRET/PW@127.0.0.1:1/d",
        "postgres://u:SEC@RETPW@127.0.0.1:1/d",
        "postgres://u:SECRET?PW@127.0.0.1:1/d",
        "host=127.0.0.1 port=1 password=SEC RETPW",
    ];
    for value in wrong {
        for arguments in [
            &["serve"][..],
            &["migrate"],
            &["cleanup"],
            &["revoke", "--all"],
        ] {
            let own = [("DATABASE_URL", value)];
            let migrations = [
                ("DATABASE_URL", "postgres://u@127.0.0.1:1/d"),
                ("MIGRATION_DATABASE_URL", value),
            ];
            for settings in [&own[..], &migrations] {
                let output = run_bare(settings, arguments);
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said).into_owned();
                assert_eq!(
                    output.status.code(),
                    Some(2),
                    "{value} {arguments:?}: {said}"
                );
                let (name, _) = settings[settings.len() - 1];
                assert!(said.contains(name) && said.contains("Allowed"), "{said}");
                let told = SECRETS.iter().find(|secret| said.contains(**secret));
                assert_eq!(told, None, "{value}: {said}");
            }
        }
    }
}

#[test]
fn an_error_of_connecting_does_not_tell_the_password() {
    // Well-formed, but libpq quotes the value that it does not know.
    let value = "postgres://u:SECRETPW@127.0.0.1:1/d?sslmode=SECRETPW";
    for arguments in [&["migrate"][..], &["cleanup"]] {
        let output = run_bare(&[("DATABASE_URL", value)], arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("[redacted]"), "{said}");
        assert!(!said.contains("SECRET"), "{said}");
    }
}

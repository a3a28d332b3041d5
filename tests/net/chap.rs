//! Logins with CHAP, against tgt.

use fathom_net::{Connection, Credentials, Fault, FaultKind, Operation, Settings};

use crate::iscsi::{TARGET, Tgt};
use crate::load::{NONE, drive_blind, request};
use crate::server::settings;

const SECRET: &str = "anna's s3cret";
const OTHER: &str = "the array's s3cret";

fn with(credentials: Credentials) -> Settings {
    Settings { credentials: Some(credentials), ..settings() }
}

fn anna(secret: &str) -> Credentials {
    Credentials::new("anna", "", secret)
}

impl Tgt {
    /// Logs in; gives what the result says of it.
    fn login(&self, settings: &Settings) -> Result<String, Fault> {
        let address = self.address(&format!("{TARGET}/1"));
        let mut connection = Connection::connect(&address, settings)?;
        assert!(!format!("{connection:?} {settings:?}").contains("s3cret"));
        let read = request(Operation::Read, 4096, 4096);
        assert_eq!(drive_blind(&mut connection, &[read], 1).failed(), NONE);
        let dialect = connection.facts().dialect.clone();
        connection.close();
        Ok(dialect)
    }

    fn refusal(&self, settings: &Settings) -> String {
        let fault = self.login(settings).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
        assert!(!format!("{fault} {fault:?}").contains("s3cret"), "{fault}");
        fault.text
    }

    /// An account; `more` binds it.
    fn account(&self, user: &str, secret: &str, more: &[&str]) {
        let new = ["--lld", "iscsi", "--mode", "account", "--op", "new", "--user", user];
        assert!(self.administers(&[&new[..], &["--password", secret]].concat()), "{user}");
        let bind = ["--lld", "iscsi", "--mode", "account", "--op", "bind", "--tid", "1"];
        assert!(self.administers(&[&bind[..], &["--user", user], more].concat()), "{user}");
    }

    fn forget(&self, user: &str) {
        let delete = ["--lld", "iscsi", "--mode", "account", "--op", "delete", "--user", user];
        assert!(self.administers(&delete));
    }
}

#[test]
fn a_user_logs_in_with_the_secret_and_nobody_without() {
    let Some(server) = Tgt::start() else { return };
    let free = server.login(&with(anna(SECRET)));
    assert_eq!(free.as_deref(), Ok("iSCSI, no digests"), "credentials do no harm");
    server.account("anna", SECRET, &[]);
    let login = server.login(&with(anna(SECRET)));
    assert_eq!(login.as_deref(), Ok("iSCSI, no digests, CHAP with MD5"));
    for nobody in [settings(), with(anna(""))] {
        let text = server.refusal(&nobody);
        assert!(text.contains("wants a user and a secret (CHAP)"), "{text}");
    }
    for wrong in [anna("anna's s3cret?"), Credentials::new("bert", "", SECRET)] {
        let text = server.refusal(&with(wrong));
        assert!(text.contains("refuses user or secret (CHAP)"), "{text}");
    }
    let short = server.refusal(&with(anna("11 s3cret-b")));
    assert!(short.contains("at least 12 bytes"), "{short}");
    let named = |user: &str| {
        let mut address = server.address(&format!("{TARGET}/1"));
        address.user = Some(user.to_owned());
        Connection::connect(&address, &with(anna(SECRET))).map(Connection::close)
    };
    assert!(named("anna").is_ok() && named("bert").unwrap_err().text.contains("'bert'"));
}

#[test]
fn a_target_has_to_prove_its_own_secret_where_the_credentials_hold_it() {
    let Some(server) = Tgt::start() else { return };
    let both = |name: &str, secret: &str| with(anna(SECRET).with_target(name, secret));
    let text = server.refusal(&both("array", OTHER));
    assert!(text.contains("proves nothing"), "{text}");
    server.account("anna", SECRET, &[]);
    let text = server.refusal(&both("array", OTHER));
    assert!(text.contains("refuses user or secret") || text.contains("gives no answer"), "{text}");
    // User and secret are right, and they alone were blamed.
    assert!(text.contains("target_password") || text.contains("gives no answer"), "{text}");
    server.account("array", OTHER, &["--outgoing"]);
    for name in ["array", ""] {
        let login = server.login(&both(name, OTHER));
        assert_eq!(login.as_deref(), Ok("iSCSI, no digests, mutual CHAP with MD5"));
    }
    assert!(server.refusal(&both("array", "an impostor's s3cret")).contains("another one"));
    assert!(server.refusal(&both("other", OTHER)).contains("another name"));
    assert!(server.login(&with(anna(SECRET))).is_ok(), "one-way is the user's choice");
}

#[test]
fn secrets_and_names_of_all_lengths_and_signs_are_taken() {
    let Some(server) = Tgt::start() else { return };
    for (user, secret) in [
        ("anna", "x".repeat(12)),
        ("iqn.1993-08.org.debian:01:abc", "a secret = with # signs, ".repeat(3)),
        (r"CORP\\anna.b", "s\u{fc}\u{df}es Geheimnis".to_owned()),
        ("b b", "z".repeat(200)),
        ("long", "z".repeat(255)),
    ] {
        server.account(user, &secret, &[]);
        let login = server.login(&with(Credentials::new(user, "", &secret)));
        assert!(login.is_ok(), "{user}: {login:?}");
        server.forget(user);
    }
}

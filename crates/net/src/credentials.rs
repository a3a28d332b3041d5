//! Who logs in, and with which password: from a file, or from the environment, never from an address.

use std::fmt;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use fathom_sys::file::open_to_look;
use thiserror::Error;
use zeroize::Zeroizing;

/// Longer files are none of credentials.
const FILE_BYTES_MAX: u32 = 64 << 10;

/// Name, domain and password, and what a server has to prove in return. The passwords are wiped from memory
/// with it, and shown by nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    domain: String,
    password: Zeroizing<String>,
    target: Option<TargetSecret>,
}

/// Name and secret of a server that has to prove itself (mutual CHAP).
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TargetSecret {
    user: String,
    password: Zeroizing<String>,
}

impl TargetSecret {
    /// Its name; empty if any will do.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }
}

/// Those of this process, the first one that is there before the environment's.
#[derive(Debug, Default)]
struct Chosen {
    /// From the file that a run names.
    of_run: Option<Credentials>,
    /// Typed at a terminal.
    typed: Option<Credentials>,
}

static CHOSEN: RwLock<Chosen> = RwLock::new(Chosen { of_run: None, typed: None });

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Credentials");
        shown.field("user", &self.user).field("domain", &self.domain);
        shown.field("is_mutual", &self.target.is_some());
        shown.finish_non_exhaustive()
    }
}

/// Why there are no credentials. No message repeats what a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CredentialsError {
    /// It could not be opened or read.
    #[error("the credentials in {} could not be read ({reason})", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Others than its owner can read it.
    #[error(
        "the credentials in {} can be read by others (mode {mode:04o}): chmod 600 {}, and change the password \
         if others may have read it",
        path.display(), path.display()
    )]
    Open {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It belongs to somebody else, who could put another server's user in.
    #[error("the credentials in {} are not this user's own file", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// Not a regular file, or far too long.
    #[error(
        "{} is no file of credentials, which is a regular file with the lines username=, password= and \
         domain=, of 64 KiB at most",
        .0.display()
    )]
    NoFile(PathBuf),
    /// A line that means nothing.
    #[error(
        "line {line} of the credentials in {} is none of username=, password=, domain=, target_username=, \
         target_password=",
        path.display()
    )]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// A kind of login that mounts know.
    #[error(
        "line {line} of the credentials in {} names a kind of login (sec=): leave it out. Kerberos is not \
         supported; SMB logs in by NTLMv2, iSCSI by CHAP",
        path.display()
    )]
    Security {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// No user.
    #[error("the credentials in {} name no user (username=NAME)", .0.display())]
    NoUser(PathBuf),
    /// A server's name without what it has to prove.
    #[error("the credentials in {} have a target_username, and no target_password", .0.display())]
    NoTargetPassword(PathBuf),
    /// What a server has to prove without what is proved to it.
    #[error("the credentials in {} have a target_password, and no password", .0.display())]
    NoPassword(PathBuf),
    /// Whoever knows one of the secrets would know the other one.
    #[error(
        "password and target_password of the credentials in {} are the same: who knows one could pass for \
         the other (RFC 7143)",
        .0.display()
    )]
    SameSecret(PathBuf),
    /// A password without a user.
    #[error("FATHOM_PASSWORD is set without FATHOM_USER: name the user, too")]
    NoUserInEnvironment,
    /// Not text.
    #[error("{0} in the environment is no text (UTF-8)")]
    NoText(&'static str),
}

impl Credentials {
    /// From parts; `DOMAIN\user` is taken apart if the domain is empty.
    #[must_use]
    pub fn new(user: &str, domain: &str, password: &str) -> Self {
        let (domain, user) = match user.split_once('\\') {
            Some((inner, user)) if domain.is_empty() => (inner, user),
            _ => (domain, user),
        };
        let password = Zeroizing::new(password.to_owned());
        Self { user: user.to_owned(), domain: domain.to_owned(), password, target: None }
    }

    /// The same, for servers that have to prove that they know a secret, too.
    #[must_use]
    pub fn with_target(self, user: &str, password: &str) -> Self {
        let password = Zeroizing::new(password.to_owned());
        Self { target: Some(TargetSecret { user: user.to_owned(), password }), ..self }
    }

    /// As a person has typed them. Bytes that are no text fit no password.
    #[must_use]
    pub fn typed(user: &str, password: Vec<u8>) -> Self {
        let password = Zeroizing::new(password);
        Self::new(user, "", std::str::from_utf8(&password).unwrap_or_default())
    }

    /// The user's name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The domain, which may be empty.
    #[must_use]
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Domain and name, where a protocol knows no domains.
    pub(crate) fn whole_user(&self) -> String {
        if self.domain.is_empty() {
            return self.user.clone();
        }
        format!("{}\\{}", self.domain, self.user)
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    pub(crate) fn target(&self) -> Option<&TargetSecret> {
        self.target.as_ref()
    }

    /// From a file in the format of mount.cifs, which nobody but its owner may read.
    pub fn of_file(path: &Path) -> Result<Self, CredentialsError> {
        let unreadable = |error: &dyn fmt::Display| CredentialsError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let file = open_to_look(path).map_err(|error| unreadable(&error))?;
        // Of the file that is open: a name may lead elsewhere a moment later.
        let known = file.metadata().map_err(|error| unreadable(&error))?;
        if !known.is_file() || known.len() > FILE_BYTES_MAX.into() {
            return Err(CredentialsError::NoFile(path.to_owned()));
        }
        let mode = known.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(CredentialsError::Open { path: path.to_owned(), mode });
        }
        let own = std::fs::metadata("/proc/self").map_err(|error| unreadable(&error))?.uid();
        if known.uid() != own && known.uid() != 0 {
            return Err(CredentialsError::Foreign { path: path.to_owned() });
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize));
        let mut limited = file.take(FILE_BYTES_MAX.into());
        limited.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| unreadable(&"not UTF-8"))?;
        Self::of_text(text, path)
    }

    fn of_text(text: &str, path: &Path) -> Result<Self, CredentialsError> {
        let lines = Lines::of(text, path)?;
        if lines.user.is_empty() {
            return Err(CredentialsError::NoUser(path.to_owned()));
        }
        let own = Self::new(lines.user, lines.domain, lines.password);
        match (lines.target_user, lines.target_password) {
            ("", "") => Ok(own),
            (_, "") => Err(CredentialsError::NoTargetPassword(path.to_owned())),
            _ if lines.password.is_empty() => Err(CredentialsError::NoPassword(path.to_owned())),
            (_, secret) if secret == lines.password => {
                Err(CredentialsError::SameSecret(path.to_owned()))
            }
            (user, secret) => Ok(own.with_target(user, secret)),
        }
    }

    /// Those of the run under way, else those that were typed, else those of the environment.
    pub fn of_process() -> Result<Option<Self>, CredentialsError> {
        let chosen = CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
        match chosen.of_run.as_ref().or(chosen.typed.as_ref()) {
            Some(known) => Ok(Some(known.clone())),
            None => Self::of_environment(),
        }
    }

    /// Uses those of a file from now on, or no longer.
    pub fn use_file(path: Option<&Path>) -> Result<(), CredentialsError> {
        let of_run = path.map(Self::of_file).transpose()?;
        CHOSEN.write().unwrap_or_else(PoisonError::into_inner).of_run = of_run;
        Ok(())
    }

    /// Uses these from now on, where a run names no file.
    pub fn use_from_now_on(self) {
        CHOSEN.write().unwrap_or_else(PoisonError::into_inner).typed = Some(self);
    }

    /// Whether there is no password.
    #[must_use]
    pub fn has_no_password(&self) -> bool {
        self.password.is_empty()
    }

    /// From the file that `FATHOM_CREDENTIALS` names, else from `FATHOM_USER`, `FATHOM_PASSWORD` and
    /// `FATHOM_DOMAIN`; none if none of them is set.
    pub fn of_environment() -> Result<Option<Self>, CredentialsError> {
        if let Some(path) = std::env::var_os("FATHOM_CREDENTIALS").filter(|path| !path.is_empty()) {
            return Self::of_file(Path::new(&path)).map(Some);
        }
        Self::of_variables(&|name| match std::env::var_os(name) {
            Some(value) => match value.into_string() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(CredentialsError::NoText(name)),
            },
            None => Ok(None),
        })
    }

    fn of_variables(
        variable: &dyn Fn(&'static str) -> Result<Option<String>, CredentialsError>,
    ) -> Result<Option<Self>, CredentialsError> {
        let user = variable("FATHOM_USER")?;
        let password = variable("FATHOM_PASSWORD")?.map(Zeroizing::new);
        let domain = variable("FATHOM_DOMAIN")?.unwrap_or_default();
        match (user.filter(|user| !user.is_empty()), password) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(CredentialsError::NoUserInEnvironment),
            (Some(user), password) => {
                let password = password.unwrap_or_default();
                Ok(Some(Self::new(&user, &domain, &password)))
            }
        }
    }
}

/// What the lines of a file say.
#[derive(Default)]
struct Lines<'a> {
    user: &'a str,
    domain: &'a str,
    password: &'a str,
    target_user: &'a str,
    target_password: &'a str,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str, path: &Path) -> Result<Self, CredentialsError> {
        let mut found = Self::default();
        // Editors of Windows put a mark at the beginning, and end each line with two characters.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let begun = line.trim_start();
            if begun.is_empty() || begun.starts_with('#') {
                continue;
            }
            let wrong = || CredentialsError::Line { path: path.to_owned(), line: number };
            if line.contains('\0') {
                return Err(wrong());
            }
            let (name, value) = begun.split_once('=').ok_or_else(wrong)?;
            match name.trim_end() {
                "username" | "user" => found.user = value.trim(),
                "domain" | "dom" | "workgroup" => found.domain = value.trim(),
                // A password may begin and end with blanks.
                "password" | "pass" => found.password = value,
                // The second names are those of iscsid.conf.
                "target_username" | "username_in" => found.target_user = value.trim(),
                "target_password" | "password_in" => found.target_password = value,
                "sec" => {
                    return Err(CredentialsError::Security { path: path.to_owned(), line: number });
                }
                _ => return Err(wrong()),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_of_mount_cifs_is_read() {
        for text in [
            "username=anna\npassword= p=w# \ndomain=CORP\n",
            "# of the backup\n\n  user=anna\n  pass= p=w# \n\tdom=CORP",
            "username=CORP\\anna\r\npassword= p=w# \r\n",
            // As editors of Windows write it, and without an end of the last line.
            "\u{feff}domain=CORP\r\nusername=anna\r\npassword= p=w# \r",
        ] {
            let (_folder, path) = file(text, 0o600);
            assert_eq!(Credentials::of_file(&path), Ok(Credentials::new("anna", "CORP", " p=w# ")));
        }
    }

    #[test]
    fn files_that_others_may_read_or_that_say_nonsense_are_refused_without_being_repeated() {
        let secret = "username=anna\npassword=s3cret\n";
        for mode in [0o644, 0o640, 0o604, 0o602] {
            let (_folder, path) = file(secret, mode);
            let error = Credentials::of_file(&path).unwrap_err();
            assert_eq!(error, CredentialsError::Open { path, mode });
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
        for text in ["s3cret\n", "username=anna\ns3cret=1\n", "password=s3cret\n", "\u{0}"] {
            let (_folder, path) = file(text, 0o600);
            let error = Credentials::of_file(&path).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
        let (folder, _path) = file(secret, 0o600);
        let missing = Credentials::of_file(&folder.path().join("other"));
        assert!(matches!(missing, Err(CredentialsError::Unreadable { .. })));
        assert!(Credentials::of_file(folder.path()).is_err());
    }

    #[test]
    fn who_wants_kerberos_is_told_that_there_is_none() {
        let (_folder, path) = file("username=anna\npassword=s3cret\nsec=krb5\n", 0o600);
        let error = Credentials::of_file(&path).unwrap_err();
        assert_eq!(error, CredentialsError::Security { path, line: 3 });
        assert!(error.to_string().contains("Kerberos is not supported"), "{error}");
    }

    #[test]
    fn what_a_target_has_to_prove_stands_beside_the_user() {
        let of = |text: &str| {
            let (_folder, path) = file(text, 0o600);
            (Credentials::of_file(&path), path)
        };
        let anna = Credentials::new("anna", "", "one").with_target("array", " two");
        for text in [
            "username=anna\npassword=one\ntarget_username=array\ntarget_password= two\n",
            "username_in=array\npassword_in= two\nusername=anna\npassword=one",
        ] {
            assert_eq!(of(text).0, Ok(anna.clone()));
        }
        assert!(!format!("{anna:?}").contains("two"), "{anna:?}");
        let (same, path) = of("username=anna\npassword=one\ntarget_password=one\n");
        assert_eq!(same, Err(CredentialsError::SameSecret(path)));
        let (nothing, path) = of("username=anna\npassword=one\ntarget_username=array\n");
        assert_eq!(nothing, Err(CredentialsError::NoTargetPassword(path)));
        let (alone, path) = of("username=anna\ntarget_password=two\n");
        assert_eq!(alone, Err(CredentialsError::NoPassword(path)));
    }

    #[test]
    fn pipes_folders_and_endless_files_are_no_credentials_and_wait_for_nobody() {
        let (folder, path) = file("username=anna\npassword=pw\n", 0o600);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(Credentials::of_file(&link), Ok(Credentials::new("anna", "", "pw")));
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status();
        assert!(made.unwrap().success());
        let (_other, huge) = file(&"#".repeat(FILE_BYTES_MAX as usize + 1), 0o600);
        for none in [pipe.as_path(), &huge, Path::new("/dev/zero"), folder.path()] {
            let error = Credentials::of_file(none);
            assert_eq!(error, Err(CredentialsError::NoFile(none.to_owned())));
        }
        let (_odd, odd) = file("username=an\0na\npassword=pw\n", 0o600);
        assert_eq!(Credentials::of_file(&odd), Err(CredentialsError::Line { path: odd, line: 1 }));
    }

    #[test]
    fn the_environment_names_both_or_none() {
        let of = |pairs: &[(&str, &str)]| {
            let found = |name: &'static str| {
                let pair = pairs.iter().find(|(key, _)| *key == name);
                Ok(pair.map(|(_, value)| (*value).to_owned()))
            };
            Credentials::of_variables(&found)
        };
        assert_eq!(of(&[]), Ok(None));
        let anna = Credentials::new("anna", "", "pw");
        assert_eq!(of(&[("FATHOM_USER", "anna"), ("FATHOM_PASSWORD", "pw")]), Ok(Some(anna)));
        let nobody = of(&[("FATHOM_PASSWORD", "pw")]);
        assert_eq!(nobody, Err(CredentialsError::NoUserInEnvironment));
    }

    #[test]
    fn nothing_shows_the_password() {
        let shown = format!("{:?}", Credentials::new("anna", "CORP", "s3cret"));
        assert!(shown.contains("anna") && !shown.contains("s3cret"), "{shown}");
    }
}

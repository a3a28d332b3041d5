//! Names of targets that mean nothing on Linux, said in words instead of "no such file".

use super::Resolver;

/// What is wrong with a name, and what to give instead.
pub(super) struct Misnomer {
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

/// Why `name` cannot be a target on any Linux host; none if it may be one.
pub(super) fn misnomer(name: &str) -> Option<Misnomer> {
    let (reason, remedy) = match name {
        "" => ("is no name of a file or device", "name a file or a block device"),
        _ if is_template(name) => (
            "is a placeholder of the profile, and the command line gives no target for it",
            "give the targets after the profile on the command line, one for each placeholder",
        ),
        _ if is_drive(name) => (
            "starts with a drive letter, which only Windows has",
            "name the partition's device, such as /dev/sda1, or a file on a mounted file system",
        ),
        _ if name.starts_with(r"\\.\") || name.starts_with(r"\\?\") => (
            "is a device name of Windows",
            "name the disk by its device, such as /dev/sda, or by its number, such as #0",
        ),
        _ if name.starts_with(r"\\") => (
            "is a share of another host, which cannot be named directly in this version",
            "mount the share and name the file under its mount point",
        ),
        _ if name.contains('\0') => ("contains a NUL byte", "correct the name"),
        _ => return None,
    };
    Some(Misnomer { message: format!("the target '{}' {reason}", name.escape_debug()), remedy })
}

/// `*1`, `*2` and so on.
fn is_template(name: &str) -> bool {
    let digits = name.strip_prefix('*').unwrap_or("");
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `C:` alone or with a path in the manner of Windows behind it.
fn is_drive(name: &str) -> bool {
    let mut letters = name.chars();
    let is_drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':');
    is_drive && matches!(letters.next(), None | Some('\\' | '/'))
}

impl Resolver<'_> {
    /// Notes that there is no disk of this number, and which ones there are.
    pub(super) fn unknown_disk(&mut self, name: &str) {
        let list: Vec<String> = self.facts.disks.iter().enumerate().map(disk_in_words).collect();
        let message = format!("there is no disk {name} on this host");
        let remedy = match list.len() {
            0 => "name a file or a block device, as this host has no whole disks".to_owned(),
            _ => format!("name one of these: {}", list.join(", ")),
        };
        self.findings.target(message, remedy);
    }
}

fn disk_in_words((number, disk): (usize, &fathom_sys::device::Disk)) -> String {
    let model = disk.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
    format!("#{number} ({}{model}, {} bytes)", disk.path.display(), disk.size_bytes)
}

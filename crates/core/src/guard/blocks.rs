//! The block devices of a machine, and how they are built on each other, from sysfs.

use std::path::{Path, PathBuf};

use fathom_sys::identity::Identity;

use super::machine::{Machine, Number, Under, parse_number};

/// An attached loop device.
pub(crate) struct LoopDevice {
    pub(super) number: Number,
    /// What lies under it; absent if that cannot be found from here.
    pub(crate) under: Option<Identity>,
    first_byte: u64,
    /// Exclusive.
    end_byte: u64,
}

impl LoopDevice {
    /// Whether both lie over some of the same bytes.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.under.is_some()
            && self.under == other.under
            && self.first_byte < other.end_byte
            && other.first_byte < self.end_byte
    }
}

/// The block devices of a machine.
pub(crate) struct Blocks<'a> {
    machine: &'a Machine,
    pub(super) loops: Vec<LoopDevice>,
    /// Sysfs tells which devices there are.
    pub(super) is_shown: bool,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Self {
        let names = machine.files().names("sys/block").into_iter();
        let loops = names.filter(|name| name.starts_with("loop"));
        let loops = loops.filter_map(|name| attached(machine, &name)).collect();
        Self { machine, loops, is_shown: machine.shows_devices() }
    }

    /// The directory of a device: of a partition it lies in that of its disk.
    pub(crate) fn directory(&self, (major, minor): Number) -> Option<String> {
        self.machine.files().follow(&format!("sys/dev/block/{major}:{minor}"))
    }

    /// The kernel's name, such as `nvme0n1p2`.
    pub(crate) fn name(&self, number: Number) -> String {
        let directory = self.directory(number);
        let name = directory.as_deref().and_then(|path| path.rsplit('/').next());
        // Sysfs writes the slash of a name such as `cciss/c0d0` as an exclamation mark.
        name.map_or_else(|| format!("{}:{}", number.0, number.1), |name| name.replace('!', "/"))
    }

    pub(super) fn size_bytes(&self, number: Number) -> u64 {
        let units = self.file(number, "size").and_then(|text| text.parse::<u64>().ok());
        units.unwrap_or(0).saturating_mul(512)
    }

    /// The text of a file in the device's directory.
    pub(crate) fn file(&self, number: Number, name: &str) -> Option<String> {
        self.machine.files().text(&format!("{}/{name}", self.directory(number)?))
    }

    /// The file of a loop device, by the path that the system shows; absent if it is none.
    pub(crate) fn backing_file(&self, number: Number) -> Option<PathBuf> {
        let directory = self.directory(number)?;
        self.machine.files().path_in(&format!("{directory}/loop/backing_file"))
    }

    pub(crate) fn has(&self, number: Number, name: &str) -> bool {
        let directory = self.directory(number);
        directory.is_some_and(|path| self.machine.files().has(&format!("{path}/{name}")))
    }

    pub(super) fn partitions(&self, number: Number) -> Vec<Number> {
        let files = self.machine.files();
        let Some(directory) = self.directory(number) else { return Vec::new() };
        let names = files.names(&directory).into_iter();
        let parts = names.filter(|name| files.has(&format!("{directory}/{name}/partition")));
        parts
            .filter_map(|name| parse_number(&files.text(&format!("{directory}/{name}/dev"))?))
            .collect()
    }

    /// The disk that a partition lies on.
    pub(crate) fn disk(&self, number: Number) -> Option<Number> {
        let directory = self.directory(number)?;
        let files = self.machine.files();
        if !files.has(&format!("{directory}/partition")) {
            return None;
        }
        let (disk, _) = directory.rsplit_once('/')?;
        parse_number(&files.text(&format!("{disk}/dev"))?)
    }

    /// The volumes that are built on the device.
    pub(super) fn holders(&self, number: Number) -> Vec<Number> {
        self.linked(number, "holders")
    }

    /// The devices that a volume is made of.
    pub(crate) fn slaves(&self, number: Number) -> Vec<Number> {
        self.linked(number, "slaves")
    }

    fn linked(&self, number: Number, kind: &str) -> Vec<Number> {
        let files = self.machine.files();
        let Some(directory) = self.directory(number) else { return Vec::new() };
        let names = files.names(&format!("{directory}/{kind}")).into_iter();
        names
            .filter_map(|name| {
                parse_number(&files.text(&format!("{directory}/{kind}/{name}/dev"))?)
            })
            .collect()
    }

    pub(crate) fn loop_device(&self, number: Number) -> Option<&LoopDevice> {
        self.loops.iter().find(|device| device.number == number)
    }

    /// The loop devices over what cannot be found from here, each with the path that the system shows; or of
    /// these only those that may not be written.
    pub(super) fn unknown_loops(&self, are_read_only: bool) -> Vec<String> {
        let is_read_only =
            |device: &&LoopDevice| self.file(device.number, "ro").as_deref() == Some("1");
        let unknown = self.loops.iter().filter(|device| device.under.is_none());
        let unknown = unknown.filter(|device| !are_read_only || is_read_only(device));
        let in_words = |device: &LoopDevice| {
            let shown = self.backing_file(device.number).unwrap_or_default();
            format!("{} ({})", self.name(device.number), shown.display())
        };
        unknown.map(in_words).collect()
    }

    /// The file behind a loop device, by the path that the system shows.
    pub(super) fn file_behind(&self, node: Identity) -> Option<PathBuf> {
        let Identity::Device(number) = node else { return None };
        self.loop_device(number)?;
        self.backing_file(number)
    }

    /// A volume in words: its name, and what the volume manager calls it.
    pub(crate) fn volume_in_words(&self, number: Number) -> String {
        let name = self.name(number);
        let more = self.mapped_in_words(number).or_else(|| self.array_in_words(number));
        more.map_or_else(|| name.clone(), |more| format!("{name} ({more})"))
    }

    fn array_in_words(&self, number: Number) -> Option<String> {
        let level = self.file(number, "md/level")?;
        Some(format!("md array, {level}"))
    }

    /// What the device mapper's identifier says; its prefixes are those that the tools write
    /// (`LVM-`, `CRYPT-LUKS2-`, `mpath-`; dmsetup(8), `crypt_dm_uuid` of cryptsetup).
    fn mapped_in_words(&self, number: Number) -> Option<String> {
        let name = self.file(number, "dm/name")?;
        let uuid = self.file(number, "dm/uuid").unwrap_or_default();
        Some(match uuid.split('-').collect::<Vec<_>>()[..] {
            ["LVM", ..] => match volume_and_group(&name) {
                Some((group, volume)) => {
                    format!("logical volume {volume} of volume group {group}")
                }
                None => format!("logical volume {name}"),
            },
            ["CRYPT", kind, id, ..] if kind.starts_with("LUKS") => {
                format!("LUKS volume {}, opened as {name}", with_dashes(id))
            }
            ["CRYPT", ..] => format!("encrypted volume, opened as {name}"),
            ["mpath", ..] => format!("multipath device {name}"),
            ["DMRAID", ..] => format!("firmware RAID {name}"),
            _ => format!("device-mapper volume {name}"),
        })
    }
}

fn attached(machine: &Machine, name: &str) -> Option<LoopDevice> {
    let files = machine.files();
    let number = parse_number(&files.text(&format!("sys/block/{name}/dev"))?)?;
    let under = match machine.under_loop(name, number) {
        Under::Known(found) => Some(found),
        Under::Unknown => None,
        Under::Nothing => return None,
    };
    let bytes = |what: &str| {
        let text = files.text(&format!("sys/block/{name}/loop/{what}"));
        text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
    };
    let (first_byte, limit) = (bytes("offset"), bytes("sizelimit"));
    let end_byte = if limit == 0 { u64::MAX } else { first_byte.saturating_add(limit) };
    Some(LoopDevice { number, under, first_byte, end_byte })
}

/// The two parts of a name such as `vg--data-home`: single dashes separate, double ones are dashes.
fn volume_and_group(name: &str) -> Option<(String, String)> {
    let marked = name.replace("--", "\0");
    let (group, volume) = marked.split_once('-')?;
    Some((group.replace('\0', "-"), volume.replace('\0', "-")))
}

/// A UUID that was written without its dashes.
fn with_dashes(hex: &str) -> String {
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let parts: Option<Vec<&str>> = parts.iter().map(|&(from, to)| hex.get(from..to)).collect();
    parts.map_or_else(|| hex.to_owned(), |parts| parts.join("-"))
}

/// The path of a device by its kernel's name.
pub(super) fn path_of(name: &str) -> String {
    Path::new("/dev").join(name).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_volume_manager_come_apart() {
        let parts = |name: &str| volume_and_group(name);
        let pair = |group: &str, volume: &str| Some((group.to_owned(), volume.to_owned()));
        assert_eq!(parts("data-home"), pair("data", "home"));
        assert_eq!(parts("vg--one-lv--two"), pair("vg-one", "lv-two"));
        assert_eq!(parts("plain"), None);
    }

    #[test]
    fn identifiers_get_their_dashes_back() {
        let hex = "0123456789abcdef0123456789abcdef";
        assert_eq!(with_dashes(hex), "01234567-89ab-cdef-0123-456789abcdef");
        assert_eq!(with_dashes("short"), "short");
    }
}

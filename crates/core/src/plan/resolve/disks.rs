//! Disks that are named by their number.

use super::Resolver;

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

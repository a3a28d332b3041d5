//! The facts of a machine that the guard asks for: its files below `/proc`, `/sys` and `/dev`, or a tree
//! of such files that a test has made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::device::mounts::{self, Standing};
use fathom_sys::identity::{self, FileId, Identity};
use fathom_sys::kernel_text::{is_in_memory, undeleted};
use fathom_sys::{kernel_files, loops, space};

use crate::tree::Tree;

/// Major and minor number of a block device.
pub(crate) type Number = (u32, u32);

/// What a loop device lies over.
pub(super) enum Under {
    Known(Identity),
    /// It is attached, and what lies under it cannot be found from here.
    Unknown,
    /// It is not attached.
    Nothing,
}

/// One machine.
pub(crate) struct Machine {
    files: Tree,
    is_this_one: bool,
}

impl Machine {
    /// This machine.
    pub(crate) fn this() -> Self {
        Self { files: Tree::new(Path::new("/")), is_this_one: true }
    }

    /// A machine made of files below `root`. Its devices are known by what `sys` says of them.
    #[cfg(test)]
    pub(crate) fn below(root: &Path) -> Self {
        Self { files: Tree::new(root), is_this_one: false }
    }

    pub(crate) fn files(&self) -> &Tree {
        &self.files
    }

    /// What a path of this machine leads to; nothing if it cannot be told.
    pub(crate) fn identity(&self, path: &Path) -> Option<Identity> {
        if let (false, Ok(name)) = (self.is_this_one, path.strip_prefix("/dev")) {
            return self.device_named(name);
        }
        identity::of(&self.files.place(path)).ok()
    }

    /// Where a path of this machine leads to: its mount and file system. On a machine made of files, a file
    /// below `made/standing` tells.
    pub(crate) fn standing(&self, path: &Path) -> Option<Standing> {
        if self.is_this_one {
            return mounts::standing(path).ok();
        }
        let told = self.files.text(&format!("made/standing{}", path.display()))?;
        let (mount, number) = told.split_once(' ')?;
        Some(Standing { mount: mount.parse().ok(), number: parse_number(number)? })
    }

    /// What a path of this machine leads to, with its size and times; nothing if it cannot be looked at.
    pub(crate) fn metadata(&self, path: &Path) -> Option<fs::Metadata> {
        fs::metadata(self.files.place(path)).ok()
    }

    /// The file system in memory that a path leads to, if it does.
    pub(crate) fn memory_file_system(&self, path: &Path) -> Option<&'static str> {
        self.is_this_one.then(|| space::memory_file_system(path))?
    }

    /// What distinguishes the root of a process from others within its mount namespace. On a machine made of
    /// files, a file below `made/root` tells.
    pub(super) fn root_of(&self, process: &str) -> Option<String> {
        if !self.is_this_one {
            return self.files.text(&format!("made/root/{process}"));
        }
        let root = self.files.path(&format!("proc/{process}/root"));
        mounts::spot(&root).ok()?.map(|spot| format!("{spot:?}"))
    }

    /// Where a symbolic link of `/proc` leads, also if nothing stands there.
    pub(super) fn link(&self, name: &str) -> Option<PathBuf> {
        fs::read_link(self.files.path(name)).ok()
    }

    /// The file or device that a path of the kernel's stands for. A device that has no node there is known by
    /// its name; nothing if it cannot be told.
    pub(super) fn file_or_device(&self, path: &Path) -> Option<Identity> {
        let node = undeleted(path).filter(|node| node.starts_with("/dev"));
        let path = node.unwrap_or(path);
        let found = self.identity(path).filter(|found| *found != Identity::Other);
        found.or_else(|| self.device_named(path.strip_prefix("/dev").ok()?))
    }

    /// A block device by the kernel's name.
    fn device_named(&self, name: &Path) -> Option<Identity> {
        let number = self.files.text(&format!("sys/class/block/{}/dev", name.display()))?;
        Some(Identity::Device(parse_number(&number)?))
    }

    /// What a loop device lies over. The kernel is asked first, as the path that it shows may be renamed
    /// or belong to another mount namespace.
    pub(super) fn under_loop(&self, name: &str, number: Number) -> Under {
        let shown = self.files.path_in(&format!("sys/block/{name}/loop/backing_file"));
        let Some(shown) = shown else { return Under::Nothing };
        let asked = if self.is_this_one {
            loops::backing(&Path::new("/dev").join(name), number)
        } else {
            self.made_under(name).map(Some).ok_or_else(|| io::ErrorKind::NotFound.into())
        };
        match asked {
            Ok(Some(found)) => Under::Known(found),
            Ok(None) => Under::Nothing,
            Err(_) if is_in_memory(&shown) => Under::Nothing,
            Err(_) => self.file_or_device(&shown).map_or(Under::Unknown, Under::Known),
        }
    }

    /// Whether sysfs shows the block devices. In a sandbox it may be missing, or empty directories stand in
    /// its place.
    pub(super) fn shows_devices(&self) -> bool {
        let is_shown = |name: &&str| {
            let place = self.files.path(name);
            let is_real =
                !self.is_this_one || kernel_files::file_system_of(&place) == Some("sysfs");
            is_real && fs::read_dir(place).is_ok()
        };
        ["sys/block", "sys/dev/block"].iter().all(is_shown)
    }

    /// What lies under a loop device of a machine made of files, by the number of its file system.
    fn made_under(&self, name: &str) -> Option<Identity> {
        let device = parse_number(&self.files.text(&format!("made/under/{name}"))?)?;
        Some(Identity::File(FileId { device, inode: 1 }))
    }

    /// The numbers of all processes.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> + use<> {
        self.numbers("proc").unwrap_or_default().into_iter()
    }

    /// The numbers that are names in a directory: processes, or threads of one.
    pub(super) fn numbers(&self, directory: &str) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(self.files.path(directory))? {
            numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// A process in words: its number and its name.
    pub(super) fn process(&self, pid: u32) -> String {
        let name = self.files.text(&format!("proc/{pid}/comm")).unwrap_or_default();
        if name.is_empty() { format!("process {pid}") } else { format!("process {pid} ({name})") }
    }
}

/// Reads a text such as `8:1`.
pub(super) fn parse_number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

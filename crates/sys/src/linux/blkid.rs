//! Signatures of file systems, volumes and partition tables, as libblkid of util-linux knows them.
//!
//! The library is loaded when it is first needed: a host without it still runs this program, which
//! then asks its own table alone. A static binary carries it (`build.rs`). What is called, and how, is
//! that of `wipefs(8)`, which lists every signature and not only the first
//! (misc-utils/wipefs.c of util-linux 2.38).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;

use libloading::Library;

use super::held::checked;

/// The name that has stood since version 2.15 of 2009.
#[cfg_attr(carried_libblkid, allow(dead_code))]
const FILE_NAME: &str = "libblkid.so.1";

// Flags of `blkid.h`.
const SUPERBLOCK_LABEL: c_int = 1 << 1;
const SUPERBLOCK_UUID: c_int = 1 << 3;
const SUPERBLOCK_TYPE: c_int = 1 << 5;
const SUPERBLOCK_USAGE: c_int = 1 << 7;
const SUPERBLOCK_VERSION: c_int = 1 << 8;
const SUPERBLOCK_MAGIC: c_int = 1 << 9;
/// A superblock with a wrong checksum is somebody's too.
const SUPERBLOCK_BAD_CHECKSUM: c_int = 1 << 10;
/// A GPT counts although its protective record is gone.
const PARTITIONS_FORCE_GPT: c_int = 1 << 1;
const PARTITIONS_MAGIC: c_int = 1 << 3;

/// More signatures than anything real has; a bound against a library that repeats itself.
const FOUND_MAX: usize = 32;

/// One signature that the library has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// Its type in the library's words, such as `ext4`, `LVM2_member` or `gpt`.
    pub kind: String,
    /// It is a partition table.
    pub is_partition_table: bool,
    /// What it is used for, such as `filesystem` or `raid`; empty for partition tables.
    pub usage: String,
    /// Its label; of a member of a pool or array, the name of that.
    pub label: Option<String>,
    /// Its identifier.
    pub uuid: Option<String>,
    /// Length of its magic number in bytes; 0 if it has none.
    pub magic_bytes: usize,
}

type Probe = *mut c_void;
type Setting = unsafe extern "C" fn(Probe, c_int) -> c_int;

/// The loaded library.
#[derive(Debug)]
pub struct Blkid {
    new_probe: unsafe extern "C" fn() -> Probe,
    free_probe: unsafe extern "C" fn(Probe),
    set_device: unsafe extern "C" fn(Probe, c_int, i64, i64) -> c_int,
    enable_superblocks: Setting,
    set_superblocks_flags: Setting,
    enable_partitions: Setting,
    set_partitions_flags: Setting,
    do_probe: unsafe extern "C" fn(Probe) -> c_int,
    lookup_value: unsafe extern "C" fn(Probe, *const c_char, *mut *const u8, *mut usize) -> c_int,
    /// Kept, because the functions are only there as long as it is; none if the program carries it.
    _library: Option<Library>,
}

/// The functions of the library that was linked in, as `blkid.h` declares them.
#[cfg(carried_libblkid)]
mod carried {
    use super::{Probe, c_char, c_int};

    unsafe extern "C" {
        pub fn blkid_new_probe() -> Probe;
        pub fn blkid_free_probe(probe: Probe);
        pub fn blkid_probe_set_device(probe: Probe, fd: c_int, offset: i64, size: i64) -> c_int;
        pub fn blkid_probe_enable_superblocks(probe: Probe, enable: c_int) -> c_int;
        pub fn blkid_probe_set_superblocks_flags(probe: Probe, flags: c_int) -> c_int;
        pub fn blkid_probe_enable_partitions(probe: Probe, enable: c_int) -> c_int;
        pub fn blkid_probe_set_partitions_flags(probe: Probe, flags: c_int) -> c_int;
        pub fn blkid_do_probe(probe: Probe) -> c_int;
        pub fn blkid_probe_lookup_value(
            probe: Probe,
            name: *const c_char,
            data: *mut *const u8,
            length: *mut usize,
        ) -> c_int;
    }
}

/// The library of this host, loaded once; why not, in words, where it is missing.
pub fn library() -> Result<&'static Blkid, &'static str> {
    static LOADED: OnceLock<Result<Blkid, String>> = OnceLock::new();
    LOADED.get_or_init(found).as_ref().map_err(String::as_str)
}

#[cfg(carried_libblkid)]
#[expect(clippy::unnecessary_wraps, reason = "the same as where it is loaded")]
fn found() -> Result<Blkid, String> {
    Ok(Blkid {
        new_probe: carried::blkid_new_probe,
        free_probe: carried::blkid_free_probe,
        set_device: carried::blkid_probe_set_device,
        enable_superblocks: carried::blkid_probe_enable_superblocks,
        set_superblocks_flags: carried::blkid_probe_set_superblocks_flags,
        enable_partitions: carried::blkid_probe_enable_partitions,
        set_partitions_flags: carried::blkid_probe_set_partitions_flags,
        do_probe: carried::blkid_do_probe,
        lookup_value: carried::blkid_probe_lookup_value,
        _library: None,
    })
}

#[cfg(not(carried_libblkid))]
fn found() -> Result<Blkid, String> {
    Blkid::load(FILE_NAME)
}

impl Blkid {
    #[cfg_attr(carried_libblkid, allow(dead_code))]
    fn load(name: &str) -> Result<Self, String> {
        let words = |error: libloading::Error| match std::error::Error::source(&error) {
            Some(source) => source.to_string(),
            None => error.to_string(),
        };
        // SAFETY: libblkid has no initialiser with effects of its own; it is the one that the
        // system's own mount and wipefs load by the same name.
        let library = unsafe { Library::new(name) }.map_err(words)?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of the declaration in `blkid.h`, which has not changed
                // since the first version of this library name, and the library is kept beside it.
                *unsafe { library.get($name.as_bytes()) }.map_err(words)?
            };
        }
        Ok(Self {
            new_probe: function!("blkid_new_probe\0"),
            free_probe: function!("blkid_free_probe\0"),
            set_device: function!("blkid_probe_set_device\0"),
            enable_superblocks: function!("blkid_probe_enable_superblocks\0"),
            set_superblocks_flags: function!("blkid_probe_set_superblocks_flags\0"),
            enable_partitions: function!("blkid_probe_enable_partitions\0"),
            set_partitions_flags: function!("blkid_probe_set_partitions_flags\0"),
            do_probe: function!("blkid_do_probe\0"),
            lookup_value: function!("blkid_probe_lookup_value\0"),
            _library: Some(library),
        })
    }

    /// All signatures of an open file or device, at its beginning and at its end; it is only read.
    ///
    /// # Errors
    /// If the library cannot read it before it has found any.
    pub fn signatures(&self, file: &File) -> io::Result<Vec<Signature>> {
        let probing = Probing::new(self, file)?;
        let mut found = Vec::new();
        while found.len() < FOUND_MAX {
            match probing.step() {
                Ok(true) => found.extend(probing.signature()),
                Err(error) if found.is_empty() => return Err(error),
                Ok(false) | Err(_) => break,
            }
        }
        Ok(found)
    }
}

/// One look at one file.
struct Probing<'a> {
    library: &'a Blkid,
    probe: NonNull<c_void>,
    /// The library reads it for as long as the probe lives.
    _file: &'a File,
}

impl<'a> Probing<'a> {
    fn new(library: &'a Blkid, file: &'a File) -> io::Result<Self> {
        // SAFETY: the function takes nothing, and gives a probe of its own or null.
        let probe = NonNull::new(unsafe { (library.new_probe)() });
        let probe = probe.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let probing = Self { library, probe, _file: file };
        probing.set_up(file)?;
        Ok(probing)
    }

    fn set_up(&self, file: &File) -> io::Result<()> {
        let (library, probe) = (self.library, self.probe.as_ptr());
        // SAFETY: the probe is live until it is dropped, and the descriptor is open for as long,
        // as `_file` borrows it. A size of 0 stands for all of it.
        checked(unsafe { (library.set_device)(probe, file.as_raw_fd(), 0, 0) }.into())?;
        let superblocks = SUPERBLOCK_LABEL
            | SUPERBLOCK_UUID
            | SUPERBLOCK_TYPE
            | SUPERBLOCK_USAGE
            | SUPERBLOCK_VERSION
            | SUPERBLOCK_MAGIC
            | SUPERBLOCK_BAD_CHECKSUM;
        for (set, value) in [
            (library.enable_superblocks, 1),
            (library.set_superblocks_flags, superblocks),
            (library.enable_partitions, 1),
            (library.set_partitions_flags, PARTITIONS_FORCE_GPT | PARTITIONS_MAGIC),
        ] {
            // SAFETY: the probe is live, and the rest is an integer.
            checked(unsafe { set(probe, value) }.into())?;
        }
        Ok(())
    }

    /// Goes on to the next signature; false if there is none.
    fn step(&self) -> io::Result<bool> {
        // SAFETY: the probe is live and has a device.
        match unsafe { (self.library.do_probe)(self.probe.as_ptr()) } {
            0 => Ok(true),
            1 => Ok(false),
            // Its probes give the number of an error, and it gives -1 for some.
            status if status < -1 => Err(io::Error::from_raw_os_error(-status)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn signature(&self) -> Option<Signature> {
        let text = |name| self.text(name);
        if let Some(kind) = text(c"PTTYPE") {
            let magic_bytes = self.bytes(c"PTMAGIC").map_or(0, <[u8]>::len);
            let (is_partition_table, uuid) = (true, text(c"PTUUID"));
            return Some(Signature {
                kind,
                is_partition_table,
                uuid,
                magic_bytes,
                ..Signature::default()
            });
        }
        Some(Signature {
            kind: text(c"TYPE")?,
            is_partition_table: false,
            usage: text(c"USAGE").unwrap_or_default(),
            label: text(c"LABEL"),
            uuid: text(c"UUID"),
            magic_bytes: self.bytes(c"SBMAGIC").map_or(0, <[u8]>::len),
        })
    }

    fn bytes(&self, name: &CStr) -> Option<&[u8]> {
        let (mut data, mut length) = (std::ptr::null(), 0_usize);
        let probe = self.probe.as_ptr();
        // SAFETY: the probe is live, the name ends with NUL, and both answers have a place.
        let status = unsafe {
            (self.library.lookup_value)(probe, name.as_ptr(), &raw mut data, &raw mut length)
        };
        if status != 0 || data.is_null() {
            return None;
        }
        // SAFETY: the library says that `length` bytes stand there; they stay until the next step,
        // and what is returned borrows the probe, which every caller has let go of by then.
        Some(unsafe { std::slice::from_raw_parts(data, length) })
    }

    /// A value as text, without the NUL that the library counts.
    fn text(&self, name: &CStr) -> Option<String> {
        let bytes = self.bytes(name)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).trim().to_owned())
            .filter(|text| !text.is_empty())
    }
}

impl Drop for Probing<'_> {
    fn drop(&mut self) {
        // SAFETY: the probe is live and nobody uses it any more. The library closes only
        // descriptors that it has opened itself.
        unsafe { (self.library.free_probe)(self.probe.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_missing_library_is_told_in_words() {
        let error = Blkid::load("libfathom-no-such-library.so.1").expect_err("nothing is loaded");
        assert!(error.contains("libfathom-no-such-library"), "{error}");
    }

    #[test]
    fn a_swap_area_has_its_name_and_zeros_have_none() {
        let Ok(library) = library() else { return };
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(1 << 20).expect("a length");
        assert_eq!(library.signatures(&file).expect("a look"), []);
        file.write_all_at(&[1], 1024).expect("the version");
        file.write_all_at(&255_u32.to_le_bytes(), 1028).expect("the last page");
        file.write_all_at(b"SWAPSPACE2", 4086).expect("the magic number");
        let found = library.signatures(&file).expect("a look");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].kind.as_str(), found[0].magic_bytes), ("swap", 10));
        assert!(!found[0].is_partition_table);
    }
}

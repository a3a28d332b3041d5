//! Formats with a magic number of four bytes or more at a fixed place, beyond what `infer` knows.

use super::Samples;

/// Where a magic number stands.
#[derive(Clone, Copy)]
enum Place {
    /// This many bytes from the start.
    Start(u64),
    /// This many bytes before the end.
    End(u64),
}

use Place::{End, Start};

/// The name of the format with the first magic number that stands in its place.
pub(super) fn recognise(samples: &Samples) -> Option<&'static str> {
    MAGIC.iter().find(|(place, magic, _)| stands(samples, *place, magic)).map(|entry| entry.2)
}

fn stands(samples: &Samples, place: Place, magic: &[u8]) -> bool {
    let found = match place {
        Start(offset) => samples.at(offset, magic.len()),
        End(from_end) => samples.at_end(from_end, magic.len()),
    };
    found == Some(magic)
}

/// Place, magic number, name.
const MAGIC: &[(Place, &[u8], &str)] = &[
    // Databases and their journals.
    (Start(0), b"SQLite format 3\0", "a SQLite database"),
    (Start(0), b"\xD9\xD5\x05\xF9\x20\xA1\x63\xD7", "a SQLite journal"),
    (Start(0), b"\x37\x7F\x06\x82", "a SQLite write-ahead log"),
    (Start(0), b"\x37\x7F\x06\x83", "a SQLite write-ahead log"),
    (Start(0), b"PGDMP", "a PostgreSQL dump"),
    (Start(0), b"\xFE\xFE\x07\x01", "a MySQL MyISAM index"),
    (Start(0), b"\xFEbin", "a MySQL binary log"),
    (Start(16), b"MySQL ", "a MySQL redo log"),
    (Start(16), b"MariaDB ", "a MariaDB redo log"),
    (Start(4), b"Standard Jet DB", "a Microsoft Access database"),
    (Start(4), b"Standard ACE DB", "a Microsoft Access database"),
    (Start(4), b"\xEF\xCD\xAB\x89", "an ESE database (Exchange, Active Directory, Windows)"),
    (Start(28), b"\x7D\x7C\x7B\x7A", "an Oracle data file"),
    (Start(12), b"\x62\x31\x05\x00", "a Berkeley DB database"),
    (Start(12), b"\x61\x15\x06\x00", "a Berkeley DB database"),
    (Start(16), b"\xDE\xC0\xEF\xBE\x01\0\0\0", "an LMDB database"),
    (Start(0), b"\x41\xD8\x01\x00\x01\x00\x00\x00", "a WiredTiger (MongoDB) file"),
    (Start(0), b"REDIS0", "a Redis dump"),
    (End(8), b"\x57\xFB\x80\x8B\x24\x75\x47\xDB", "a LevelDB table"),
    (End(8), b"\xF7\xCF\xF4\x85\xB7\x41\xE2\x88", "a RocksDB table"),
    (Start(0), b"\x3F\xD7\x6C\x17", "a Lucene index"),
    (Start(0), b"\xCE\x9A\x57\x13", "a GDBM database"),
    (Start(0), b"\xCF\x9A\x57\x13", "a GDBM database"),
    // Scientific data, models and columns.
    (Start(0), b"PAR1", "a Parquet file"),
    (Start(0), b"ARROW1\0\0", "an Arrow file"),
    (Start(0), b"Obj\x01", "an Avro file"),
    (Start(0), b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (Start(0), b"CDF\x01", "a NetCDF file"),
    (Start(0), b"CDF\x02", "a NetCDF file"),
    (Start(0), b"\x93NUMPY", "a NumPy array"),
    (Start(0), b"GGUF", "a GGUF model"),
    (Start(0), b"SIMPLE  =", "a FITS file"),
    // Virtual disks and disk images.
    (Start(0), b"conectix", "a VHD virtual disk"),
    (End(512), b"conectix", "a VHD virtual disk"),
    (End(511), b"conectix", "a VHD virtual disk"),
    (Start(0), b"vhdxfile", "a VHDX virtual disk"),
    (Start(0), b"KDMV", "a VMDK virtual disk"),
    (Start(0), b"COWD", "a VMDK virtual disk"),
    (Start(0), b"SEsp", "a VMDK virtual disk"),
    (Start(0), b"# Disk DescriptorFile", "a VMDK descriptor"),
    (Start(0), b"QFI\xFB", "a QCOW virtual disk"),
    (Start(0), b"QED\0", "a QED virtual disk"),
    (Start(64), b"\x7F\x10\xDA\xBE", "a VDI virtual disk"),
    (Start(0), b"WithoutFreeSpace", "a Parallels virtual disk"),
    (Start(0), b"WithouFreSpacExt", "a Parallels virtual disk"),
    (End(512), b"koly", "an Apple disk image"),
    (Start(0), b"MSWIM\0\0\0", "a Windows image"),
    (Start(0), b"EVF\x09\x0D\x0A\xFF\x00", "a forensic disk image"),
    // Archives, backups and repositories.
    (Start(0), b"\x89LZO\0\r\n\x1a\n", "an LZO archive"),
    (Start(0), b"BZh91AY&SY", "a bzip2 archive"),
    (Start(0), b"TAPE", "a backup in Microsoft tape format"),
    (Start(0), b"BORG_SEG", "a Borg backup segment"),
    (Start(0), b"PACK\0\0\0\x02", "a Git pack"),
    (Start(0), b"070701", "a cpio archive"),
    (Start(0), b"070702", "a cpio archive"),
    (Start(0), b"070707", "a cpio archive"),
    (Start(7), b"**ACE**", "an ACE archive"),
    // Mail.
    (Start(0), b"!BDN", "an Outlook mailbox"),
    (Start(0), b"\xCF\xAD\x12\xFE", "an Outlook Express mailbox"),
    // Keys and encrypted files.
    (Start(0), b"\x03\xD9\xA2\x9A", "a KeePass key store"),
    (Start(0), b"\xFE\xED\xFE\xED", "a Java key store"),
    (Start(8), b"KBXf", "a GnuPG key box"),
    (Start(0), b"Salted__", "a file encrypted by OpenSSL"),
    (Start(0), b"age-encryption.org/", "a file encrypted by age"),
    // Images, drawings, video.
    (Start(0), b"GIF87a", "a GIF image"),
    (Start(0), b"GIF89a", "a GIF image"),
    (Start(0), b"gimp xcf", "a GIMP image"),
    (Start(0), b"BLENDER", "a Blender scene"),
    (Start(0), b"AC10", "an AutoCAD drawing"),
    (Start(0), b"\x76\x2F\x31\x01", "an OpenEXR image"),
    (Start(0), b"\0\0\0\x0CJXL \r\n\x87\n", "a JPEG XL image"),
    (Start(0), b"II*\0", "a TIFF image or a camera's raw image"),
    (Start(0), b"MM\0*", "a TIFF image or a camera's raw image"),
    (Start(0), b"IIRO", "a camera's raw image"),
    (Start(0), b"FUJIFILMCCD-RAW", "a camera's raw image"),
    (Start(4), b"ftyp", "an MP4 or QuickTime file"),
    (Start(0), b"\0\0\x01\xB3", "an MPEG video"),
    (Start(0), b".RMF", "a RealMedia file"),
    // What systems and programs keep.
    (Start(0), b"\xDE\x12\x04\x95", "a message catalogue"),
    (Start(0), b"TZif", "a time zone"),
    (Start(0), b"BC\xC0\xDE", "LLVM bitcode"),
    (Start(0), b"\xDE\xC0\x17\x0B", "LLVM bitcode"),
    (Start(0), b"icns", "an icon"),
    (Start(0), b"wOFF", "a font"),
    (Start(0), b"ttcf", "a font collection"),
    (Start(0), b"regf", "a Windows registry hive"),
    (Start(0), b"ElfFile\0", "a Windows event log"),
    (Start(0), b"MDMP", "a Windows minidump"),
    (Start(0), b"PAGEDU64", "a Windows memory dump"),
    (Start(0), b"PAGEDUMP", "a Windows memory dump"),
    (Start(0), b"LPKSHHRH", "a systemd journal"),
    (Start(0), b"\xD4\xC3\xB2\xA1", "a packet capture"),
    (Start(0), b"\xA1\xB2\xC3\xD4", "a packet capture"),
    (Start(0), b"\x4D\x3C\xB2\xA1", "a packet capture"),
    (Start(0), b"\x0A\x0D\x0D\x0A", "a packet capture"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_magic_number_is_strong_and_found() {
        for (place, magic, name) in MAGIC {
            assert!(magic.len() >= 4, "{name}");
            let mut data = vec![0x5A; 8192];
            let at = match place {
                Start(offset) => usize::try_from(*offset).expect("a small offset"),
                End(from_end) => 8192 - usize::try_from(*from_end).expect("a small offset"),
            };
            data[at..at + magic.len()].copy_from_slice(magic);
            assert!(recognise(&Samples::of_bytes(&data)).is_some(), "{name}");
            data[at] ^= 0x80;
            assert_eq!(recognise(&Samples::of_bytes(&data)), None, "{name}");
        }
    }
}

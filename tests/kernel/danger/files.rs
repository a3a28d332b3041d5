//! Files, and what is neither file nor device.
#![expect(clippy::unnecessary_wraps, reason = "the builders of set-ups are of one type")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::place::{Place, tool_told};
use super::{Built, Lifted, PLAIN, Setup};

const HELD: Setup = Setup { lifted: Lifted::Overwrite, ..PLAIN };

pub const SETUPS: &[Setup] = &[
    Setup {
        name: "SQLite database",
        words: &["the file looks like a SQLite database"],
        build: database,
        ..HELD
    },
    Setup {
        name: "virtual disk (qcow2)",
        words: &["the file holds data that neither diskspd nor fathom made"],
        build: |place| headed(place, b"QFI\xFB\0\0\0\x03"),
        ..HELD
    },
    Setup {
        name: "virtual disk (VMDK)",
        words: &["the file holds data that neither diskspd nor fathom made"],
        build: |place| headed(place, b"KDMV\x01\0\0\0"),
        ..HELD
    },
    Setup {
        name: "image of a file system",
        words: &["the file looks like an ext4 file system"],
        build: image,
        ..HELD
    },
    Setup {
        name: "image of a partitioned disk, of which only the copy at the end is left",
        words: &["the file looks like a GPT partition table"],
        build: partitioned,
        ..HELD
    },
    Setup {
        name: "sparse file with data in the middle",
        words: &["a SQLite database, at offset 50339840"],
        build: in_the_middle,
        ..HELD
    },
    Setup {
        name: "text that was copied into a file of zeros",
        words: &["the file looks like text, at offset"],
        build: text_among_zeros,
        ..HELD
    },
    Setup {
        name: "symbolic link to somebody's file",
        words: &["the file looks like text"],
        build: linked,
        ..HELD
    },
    Setup {
        name: "file that another process has open for writing",
        words: &["the file is in use", "has it open for writing"],
        build: open_for_writing,
        ..PLAIN
    },
    Setup {
        name: "file that another process has mapped for writing, and closed",
        words: &["the file is in use", "has it open for writing"],
        build: mapped,
        ..PLAIN
    },
    Setup {
        name: "store of the results",
        words: &["it is never written to", "it is protected"],
        build: |place| store(place, "results.sqlite"),
        ..PLAIN
    },
    Setup {
        name: "write-ahead log of the store",
        words: &["it is never written to", "it is protected"],
        build: |place| store(place, "results.sqlite-wal"),
        ..PLAIN
    },
    Setup {
        name: "hard link to the store",
        words: &["it is never written to", "it is protected"],
        build: |place| {
            let built = store(place, "results.sqlite")?;
            let link = place.path("innocent.dat");
            std::fs::hard_link(&built.target, &link).ok()?;
            Some(Built { target: link, ..built })
        },
        ..PLAIN
    },
    Setup {
        name: "loop device over the store",
        words: &["it is never written to", "the file behind it is protected"],
        build: loop_over_store,
        ..PLAIN
    },
    Setup {
        name: "switch of the kernel (sysfs)",
        words: &["it is no storage but sets something in the kernel (sysfs)"],
        build: |place| {
            let (device, _) = place.disk()?;
            let queue = device.replace("/dev/", "/sys/block/") + "/queue/read_ahead_kb";
            Some(Built::new(&queue, queue.as_ref()))
        },
        is_readable: false,
        ..PLAIN
    },
    Setup {
        name: "character device",
        words: &["is a character device"],
        is_error: true,
        is_readable: false,
        build: |_| Some(bare("/dev/null")),
        ..PLAIN
    },
    Setup {
        name: "directory",
        words: &["is a directory"],
        is_error: true,
        is_readable: false,
        build: |place| Some(bare(place.path(""))),
        ..PLAIN
    },
];

fn bare(target: impl Into<PathBuf>) -> Built {
    Built { target: target.into(), watched: Vec::new(), words: Vec::new(), options: String::new() }
}

fn database(place: &mut Place) -> Option<Built> {
    let path = place.path("app.db");
    let script = "create table people(name text); insert into people values ('Ada');";
    place.tool("sqlite3", &[path.to_str()?, script])?;
    Some(Built::new(path.clone(), &path))
}

fn headed(place: &mut Place, magic: &[u8]) -> Option<Built> {
    let mut bytes = vec![0; 1 << 20];
    bytes[..magic.len()].copy_from_slice(magic);
    let path = place.written("machine", &bytes);
    Some(Built::new(path.clone(), &path))
}

fn image(place: &mut Place) -> Option<Built> {
    let path = place.file("root.img", 64);
    place.tool("mkfs.ext4", &["-q", path.to_str()?])?;
    Some(Built::new(path.clone(), &path))
}

fn partitioned(place: &mut Place) -> Option<Built> {
    let path = place.file("disk.img", 64);
    tool_told("sfdisk", &["-q", path.to_str()?], "label: gpt\n,16M\n")?;
    let file = OpenOptions::new().write(true).open(&path).ok()?;
    file.write_all_at(&vec![0; 1 << 20], 0).ok()?;
    Some(Built::new(path.clone(), &path))
}

/// Between the places that are sampled in any case.
fn in_the_middle(place: &mut Place) -> Option<Built> {
    let path = place.file("sparse.dat", 100);
    let file = OpenOptions::new().write(true).open(&path).ok()?;
    let mut page = vec![0_u8; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    file.write_all_at(&page, 50_339_840).ok()?;
    Some(Built::new(path.clone(), &path))
}

fn text_among_zeros(place: &mut Place) -> Option<Built> {
    let line = b"Dear Ada, the engine weaves patterns just as the loom weaves flowers.\n";
    let mut bytes = vec![0; 32 << 20];
    for (byte, letter) in bytes[12 << 20..20 << 20].iter_mut().zip(line.iter().cycle()) {
        *byte = *letter;
    }
    let path = place.written("zeros.dat", &bytes);
    Some(Built::new(path.clone(), &path))
}

fn linked(place: &mut Place) -> Option<Built> {
    let path = place.written("letter", "Dear Ada, how are you?\n".repeat(1000).as_bytes());
    let link = place.path("t.dat");
    std::os::unix::fs::symlink("letter", &link).ok()?;
    Some(Built::new(link, &path))
}

fn open_for_writing(place: &mut Place) -> Option<Built> {
    let path = place.written("log.dat", &vec![0; 1 << 20]);
    let script = format!("exec 3>>{} && echo ready && exec sleep 1000", path.display());
    let id = place.process("sh", &["-c", &script])?;
    Some(Built::new(path.clone(), &path).saying(format!("process {id} (sleep)")))
}

fn mapped(place: &mut Place) -> Option<Built> {
    let path = place.written("pages.dat", &vec![0; 1 << 20]);
    let script = format!(
        "import mmap,os,time\nf = os.open('{}', os.O_RDWR)\nm = mmap.mmap(f, 0)\n\
         os.closerange(3, 64)\nprint('ready', flush=True)\ntime.sleep(1000)",
        path.display()
    );
    let id = place.process("python3", &["-c", &script])?;
    Some(Built::new(path.clone(), &path).saying(format!("process {id}")))
}

/// The store, and one of its files as the target: it holds nothing that could be recognised.
fn store(place: &mut Place, target: &str) -> Option<Built> {
    let store = place.written("results.sqlite", &vec![0; 1 << 20]);
    let wal = place.written("results.sqlite-wal", &vec![0; 1 << 20]);
    let mut built = Built::new(place.path(target), &store);
    built.watched.push(wal);
    Some(built.with(format!("--protect={}", store.display())))
}

fn loop_over_store(place: &mut Place) -> Option<Built> {
    let built = store(place, "results.sqlite")?;
    let device = place.attach(&built.target.clone())?;
    Some(Built { target: device.into(), ..built })
}

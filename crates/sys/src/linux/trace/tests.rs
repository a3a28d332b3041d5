//! Each group counts what really happens. Others work on the same system, so that a count may be
//! greater than what was done here, and never smaller.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use super::*;

/// Why a test did not run, on standard error.
#[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
fn skip(reason: &str) {
    eprintln!("left out: {reason}");
}

/// What is counted while something is done; nothing, with the reason printed, where that is not allowed.
fn counted(groups: &[Group], action: impl FnOnce()) -> Option<Counted> {
    let request = Request { groups: groups.to_vec(), clock: Clock::Monotonic };
    match Session::open(&request) {
        Ok(mut session) => {
            session.begin();
            action();
            session.look();
            Some(session.end())
        }
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

#[track_caller]
fn at_least(counted: &Counted, event: Event, least: u64) {
    let count = counted.counts.iter().find(|count| count.event == event).unwrap();
    assert!(count.count.unwrap() >= least, "{count:?} where {least} were made");
    assert_eq!(count.partial, None);
}

fn run(program: &str, times: usize) {
    for _ in 0..times {
        assert!(Command::new(program).status().unwrap().success());
    }
}

#[test]
fn processes_are_counted_from_start_to_end() {
    let Some(counted) = counted(&[Group::Process], || run("true", 40)) else { return };
    at_least(&counted, Event::ProcessStart, 40);
    let end = counted.counts.iter().find(|count| count.event == Event::ProcessEnd).unwrap();
    match end.count {
        Some(count) => assert!(count >= 40, "{end:?}"),
        None => skip(&end.source),
    }
}

#[test]
fn threads_are_no_processes() {
    let groups = [Group::Process, Group::Thread];
    let threads = || {
        for _ in 0..3_000 {
            std::thread::spawn(|| ()).join().unwrap();
        }
    };
    let Some(counted) = counted(&groups, threads) else { return };
    at_least(&counted, Event::ThreadStart, 3_000);
    at_least(&counted, Event::ThreadEnd, 2_990);
    let processes = counted.counts.iter().find(|count| count.event == Event::ProcessStart);
    assert!(processes.unwrap().count.unwrap() < 3_000, "{counted:?}");
}

#[test]
fn threads_are_counted_without_privilege() {
    let spawn = || drop((0..100).map(|_| std::thread::spawn(|| ()).join()).collect::<Vec<_>>());
    at_least(&counted(&[Group::Thread], spawn).unwrap(), Event::ThreadStart, 100);
}

#[test]
fn a_program_and_its_libraries_are_images() {
    // The program, its loader and its C library.
    let Some(counted) = counted(&[Group::ImageLoad], || run("true", 30)) else { return };
    at_least(&counted, Event::ImageLoad, 90);
}

#[test]
fn a_file_is_an_image_only_if_it_is_mapped_for_execution() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let map = |protection: libc::c_int| {
        for _ in 0..500 {
            // SAFETY: a new private mapping at an address of the kernel's choice aliases no Rust object,
            // and is removed before anybody has seen its address.
            unsafe {
                let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
                let none = std::ptr::null_mut();
                let address = libc::mmap(none, 4096, protection, libc::MAP_PRIVATE, fd, 0);
                assert_ne!(address, libc::MAP_FAILED);
                libc::munmap(address, 4096);
            }
        }
    };
    let image = |protection| counted(&[Group::ImageLoad], || map(protection));
    let Some(executable) = image(libc::PROT_READ | libc::PROT_EXEC) else { return };
    at_least(&executable, Event::ImageLoad, 500);
    // Others may start programs meanwhile, so that the least of several counts is looked at.
    let plain = (0..5).filter_map(|_| image(libc::PROT_READ)?.counts[0].count).min().unwrap();
    assert!(plain < 500, "{plain} images without one that was mapped for execution");
}

#[test]
fn images_that_do_not_fit_are_told_as_lost() {
    let request = Request { groups: vec![Group::ImageLoad], clock: Clock::Monotonic };
    let Ok(mut session) = Session::open(&request) else {
        return skip("no privilege for perf events");
    };
    session.begin();
    // No look in between, and all on one CPU: its buffer holds the images of some hundred programs.
    let cpu = crate::cpu::usable().unwrap()[0];
    let load = std::thread::spawn(move || {
        crate::thread::pin_to_cpu(cpu as usize).unwrap();
        run("true", 1_500);
    });
    load.join().unwrap();
    let counted = session.end();
    let image = &counted.counts[0];
    assert!(image.partial.as_ref().is_some_and(|words| words.contains("lost")), "{image:?}");
}

/// Touches each page of new memory of this many pages.
fn touch_fresh_pages(pages: usize) {
    let bytes = pages * 4096;
    // SAFETY: a new private mapping aliases no Rust object; all writes lie within it, and it is removed
    // before anybody else has seen its address.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let address = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        assert_ne!(address, libc::MAP_FAILED);
        // A huge page would take many pages with one fault.
        libc::madvise(address, bytes, libc::MADV_NOHUGEPAGE);
        for page in 0..pages {
            address.cast::<u8>().add(page * 4096).write_volatile(1);
        }
        libc::munmap(address, bytes);
    }
}

#[test]
fn each_fresh_page_is_a_soft_fault() {
    let counted = counted(&[Group::PageFaults], || touch_fresh_pages(20_000)).unwrap();
    at_least(&counted, Event::SoftFault, 20_000);
    let told = |event| counted.counts.iter().find(|count| count.event == event).unwrap();
    // What Linux does not tell apart is absent, and not 0.
    assert_eq!(told(Event::DemandZeroFault).count, None);
    assert!(told(Event::DemandZeroFault).source.contains("soft"));
}

#[test]
fn a_page_that_comes_from_the_disk_is_a_hard_fault() {
    const PAGES: usize = 256;
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(file.path(), vec![7; PAGES * 4096]).unwrap();
    file.as_file().sync_all().unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
    let read = || {
        // SAFETY: as for fresh pages, with a mapping that is only read.
        unsafe {
            libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED);
            let bytes = PAGES * 4096;
            let none = std::ptr::null_mut();
            let address = libc::mmap(none, bytes, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
            assert_ne!(address, libc::MAP_FAILED);
            // Without this the kernel would read several pages at each fault.
            libc::madvise(address, bytes, libc::MADV_RANDOM);
            for page in 0..PAGES {
                address.cast::<u8>().add(page * 4096).read_volatile();
            }
            libc::munmap(address, bytes);
        }
    };
    let counted = counted(&[Group::HardFaults], read).unwrap();
    assert_eq!(counted.counts.len(), 1);
    if counted.counts[0].count == Some(0) {
        return skip("this file system keeps all files in memory");
    }
    at_least(&counted, Event::HardFault, PAGES as u64);
}

#[test]
fn segments_and_connections_are_counted() {
    const CONNECTIONS: u64 = 50;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let talk = || {
        for _ in 0..CONNECTIONS {
            let mut here = TcpStream::connect(address).unwrap();
            let (mut there, _) = listener.accept().unwrap();
            here.write_all(b"question").unwrap();
            there.read_exact(&mut [0; 8]).unwrap();
            there.write_all(b"answer").unwrap();
            here.read_exact(&mut [0; 6]).unwrap();
        }
    };
    let counted = counted(&[Group::Network], talk).unwrap();
    for (event, each) in
        [(Event::TcpAccept, 1), (Event::TcpConnect, 1), (Event::TcpSend, 4), (Event::TcpReceive, 4)]
    {
        at_least(&counted, event, each * CONNECTIONS);
    }
    let end = counted.counts.iter().find(|count| count.event == Event::TcpDisconnect).unwrap();
    match end.count {
        // The side that closed first may still wait for the other when the counting ends.
        Some(count) => assert!(count >= CONNECTIONS, "{end:?}"),
        None => skip(&end.source),
    }
}

#[test]
fn datagrams_of_both_versions_are_counted() {
    for loopback in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(socket) = UdpSocket::bind(loopback) else {
            skip(&format!("no {loopback} here"));
            continue;
        };
        let address = socket.local_addr().unwrap();
        let send = || {
            for _ in 0..100 {
                socket.send_to(b"word", address).unwrap();
                socket.recv_from(&mut [0; 8]).unwrap();
            }
        };
        let counted = counted(&[Group::Network], send).unwrap();
        at_least(&counted, Event::UdpSend, 100);
        at_least(&counted, Event::UdpReceive, 100);
    }
}

#[test]
fn each_synchronous_write_reaches_a_disk() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let write = || {
        for _ in 0..20 {
            file.as_file().write_all(&[7; 4096]).unwrap();
            file.as_file().sync_all().unwrap();
        }
    };
    let counted = counted(&[Group::DiskIo], write).unwrap();
    if counted.counts[1].count == Some(0) {
        return skip("this file system lies on no disk");
    }
    let writes = &counted.counts[1];
    assert!(writes.count.unwrap() >= 20, "{writes:?}");
}

#[test]
fn the_time_is_told_by_the_clock_that_was_asked_for() {
    let length = |clock: Clock| {
        let mut session = Session::open(&Request { groups: Vec::new(), clock }).unwrap();
        session.begin();
        crate::clock::sleep_until_ns(crate::clock::now_ns() + 30_000_000);
        let counted = session.end();
        assert_eq!(counted.clock, clock);
        counted.ticks
    };
    assert!(length(Clock::Monotonic) >= 30_000_000);
    // It is behind by up to 10 ms, at the beginning and at the end.
    assert!(length(Clock::Coarse) >= 19_000_000);
    assert!(length(Clock::Cycles) > 0);
}

#[test]
fn nothing_is_counted_before_the_beginning() {
    let request = Request { groups: vec![Group::PageFaults], clock: Clock::Monotonic };
    // Others work on the same system: one of several attempts is quiet enough.
    let quiet = (0..10).any(|_| {
        let mut session = Session::open(&request).unwrap();
        touch_fresh_pages(100_000);
        session.begin();
        let counted = session.end();
        let soft = counted.counts.iter().find(|count| count.event == Event::SoftFault);
        soft.unwrap().count.unwrap() < 100_000
    });
    assert!(quiet);
}

//! How I/O is handed over and taken back, and where its buffers lie: what `DiskSpd` 2.3 added, and two
//! choices that it lacks. A catalogue: every entry has the same shape.

#![expect(clippy::unnecessary_wraps, reason = "the table wants one signature for all options")]

use super::super::draft::Draft;
use super::super::number::{count, positive};
use super::{Category, Flag, JUNK, PLAIN};
use crate::request::{BufferSeparation, RingBatch, RingUse, SubmissionThread, Tuning};

const LOAD: Flag = Flag { category: Category::Load, ..PLAIN };
const BEYOND: Flag = Flag { category: Category::Beyond, ..PLAIN };

/// The entries of `DiskSpd` 2.3.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "bs",
        form: "-bs<n|p>",
        category: Category::Caching,
        default: "-bsp",
        limits: "n or p; not with -X",
        short: "where threads' buffers lie; n: anywhere, p: page directories apart",
        long: "p lets the buffers of each thread begin at a multiple of the memory that one cache \
               line of page directory entries describes (16 MiB with pages of 4 KiB), so that no two \
               threads look up their buffers through the same line. n lets the kernel place them.",
        here: "Large pages (-l) come first: they need no lower tables. The shared source of write \
               data (-Z<size>) is one buffer for all threads.",
        example: "-bsn",
        apply: buffer_separation,
        ..PLAIN
    },
    Flag {
        name: "oc",
        form: "-oc<count>",
        unit: "completions",
        default: "all that are there",
        limits: "1 to 16; not with -x, and not if all targets are memory mapped (-Sm)",
        short: "completions that are taken at a time, at most",
        long: "A thread takes at most this many completions before it issues new I/Os.",
        here: "DiskSpd takes 16 at a time unless told otherwise; without this option all that are \
               there are taken.",
        deviation: JUNK,
        example: "-oc4",
        apply: completion_depth,
        ..LOAD
    },
    Flag {
        name: "u",
        form: "-u[n][<count>|<percent>p]",
        unit: "I/Os, or percent of the outstanding I/Os",
        default: "25p where no value is given",
        limits: "1 to 65536, or 1 to 100 with p; not with -x and -Sm",
        short: "through a ring, in batches; n: unregistered buffers, p: percent",
        long: "I/Os are queued until a batch is full and then handed over with one system call. The \
               batch is a number of I/Os or, with p behind it, a percentage of the thread's \
               outstanding I/Os. With n the kernel pins each buffer again for each I/O.",
        here: "The ring is io_uring, which serves without this option too, in batches that follow the \
               load. An I/O that is due by a rate is not held back. See --polled for polled completion.",
        example: "-u8",
        apply: ring,
        ..LOAD
    },
];

/// The choices that `DiskSpd` lacks.
pub const LONG: &[Flag] = &[
    Flag {
        name: "-polled",
        form: "--polled",
        limits: "needs io_uring, -Su, and a device whose driver has queues for it",
        short: "look for completions at the device instead of waiting for interrupts",
        long: "Costs a CPU per thread and saves the interrupt and the wake-up. A device that does not \
               poll (queue/io_poll in sysfs is 0) is reported before anything is touched.",
        example: "--polled",
        apply: polled,
        written: |options| options.polled.then(|| "--polled".to_owned()),
        ..BEYOND
    },
    Flag {
        name: "-sqpoll",
        form: "--sqpoll[=<cpu>]",
        unit: "CPU, by the kernel's number",
        default: "off; any CPU where none is given",
        limits: "needs io_uring; not with -u",
        short: "a kernel thread takes I/Os from each ring, so that no system call is needed",
        long: "Each thread of load gets a kernel thread that looks for new I/Os, on the given CPU if \
               there is one. It uses a CPU of its own while there is load.",
        example: "--sqpoll",
        apply: submission_thread,
        written: |options| {
            let cpu = options.submission_thread.map(|thread| thread.cpu);
            cpu.map(|cpu| cpu.map_or("--sqpoll".to_owned(), |cpu| format!("--sqpoll={cpu}")))
        },
        ..BEYOND
    },
];

fn buffer_separation(draft: &mut Draft, value: &str) -> Result<(), String> {
    draft.span.tuning.buffer_separation = Some(match value {
        "n" => BufferSeparation::SystemDefault,
        "p" => BufferSeparation::PageDirectoryLine,
        _ => return Err(format!("'{value}' is neither n nor p")),
    });
    Ok(())
}

fn completion_depth(draft: &mut Draft, value: &str) -> Result<(), String> {
    let depth = count(value).ok().and_then(|depth| u32::try_from(depth).ok());
    let depth = depth.filter(|depth| (1..=Tuning::COMPLETION_DEPTH_MAX).contains(depth));
    let wrong = || format!("the completion depth must be from 1 to 16, not '{value}'");
    draft.span.tuning.completion_depth = Some(depth.ok_or_else(wrong)?);
    Ok(())
}

fn ring(draft: &mut Draft, value: &str) -> Result<(), String> {
    let (registered_buffers, size) = match value.strip_prefix('n') {
        Some(size) => (false, size),
        None => (true, value),
    };
    let bounded = |digits: &str, greatest: u32| {
        let wrong = || format!("the batch must be from 1 to {greatest}, not '{digits}'");
        positive(digits).ok().filter(|&number| number <= greatest).ok_or_else(wrong)
    };
    let batch = match size.strip_suffix('p') {
        _ if size.is_empty() => RingUse::default().batch,
        Some(percent) => RingBatch::Percent(bounded(percent, RingBatch::PERCENT_MAX)?),
        None => RingBatch::Ios(bounded(size, RingBatch::IOS_MAX)?),
    };
    draft.span.tuning.ring = Some(RingUse { batch, registered_buffers });
    Ok(())
}

fn polled(draft: &mut Draft, _suffix: &str) -> Result<(), String> {
    draft.job.request.options.polled = true;
    Ok(())
}

fn submission_thread(draft: &mut Draft, value: &str) -> Result<(), String> {
    let number = value.parse().ok();
    let wrong = || format!("'{value}' is not the number of a CPU");
    let cpu = match value {
        "" => None,
        _ => Some(number.ok_or_else(wrong)?),
    };
    draft.job.request.options.submission_thread = Some(SubmissionThread { cpu });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring_of(value: &str) -> Result<(RingBatch, bool), String> {
        let mut draft = Draft::default();
        ring(&mut draft, value)?;
        let ring = draft.span.tuning.ring.ok_or("no ring")?;
        Ok((ring.batch, ring.registered_buffers))
    }

    #[test]
    fn a_batch_is_a_number_or_a_share_and_n_leaves_buffers_unregistered() {
        assert_eq!(ring_of(""), Ok((RingBatch::Percent(25), true)));
        assert_eq!(ring_of("n"), Ok((RingBatch::Percent(25), false)));
        assert_eq!(ring_of("8"), Ok((RingBatch::Ios(8), true)));
        assert_eq!(ring_of("n50p"), Ok((RingBatch::Percent(50), false)));
        for wrong in ["0", "101p", "0p", "p", "65537", "8x", "8pp", "-1", "8n"] {
            assert!(ring_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn depths_and_places_are_bounded() {
        let mut draft = Draft::default();
        assert!(completion_depth(&mut draft, "16").is_ok());
        assert_eq!(draft.span.tuning.completion_depth, Some(16));
        for wrong in ["", "0", "17", "4x"] {
            assert!(completion_depth(&mut draft, wrong).is_err(), "{wrong}");
        }
        assert!(buffer_separation(&mut draft, "n").is_ok());
        assert_eq!(draft.span.tuning.buffer_separation, Some(BufferSeparation::SystemDefault));
        for wrong in ["", "x", "np"] {
            assert!(buffer_separation(&mut draft, wrong).is_err(), "{wrong}");
        }
        assert!(submission_thread(&mut draft, "x").is_err());
    }
}

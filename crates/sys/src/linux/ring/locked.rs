//! Memory of rings that counts as locked (`ulimit -l`), beside the buffers that are registered.

const PAGE_BYTES: u64 = 4096;
const SUBMISSION_BYTES: u64 = 64;
const COMPLETION_BYTES: u64 = 16;
const INDEX_BYTES: u64 = 4;
/// More than the heads and tails before the completions.
const HEAD_BYTES: u64 = 512;

/// What a ring for so many outstanding I/Os takes, as `build` asks for it.
#[must_use]
pub fn locked_bytes(slots: u64) -> u64 {
    let entries = slots.clamp(1, 32_768).next_power_of_two();
    let completions = entries.max(2) * 2;
    let queues = HEAD_BYTES + completions * COMPLETION_BYTES + entries * INDEX_BYTES;
    let pages = (entries * SUBMISSION_BYTES).div_ceil(PAGE_BYTES) + queues.div_ceil(PAGE_BYTES);
    pages * PAGE_BYTES
}

/// Whether a kernel of this release counts rings as locked memory: Linux did until 5.11, and has done so
/// again since 6.14 (`io_create_region` of `io_uring/memmap.c`).
#[must_use]
pub fn takes_locked_memory(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    !((5, 12)..(6, 14)).contains(&version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rings_take_two_pages_and_large_ones_what_they_hold() {
        assert_eq!(locked_bytes(1), 8192);
        assert_eq!(locked_bytes(8), 8192);
        assert_eq!(locked_bytes(64), 4096 + 4096);
        assert_eq!(locked_bytes(1024), 65_536 + 40_960);
        assert_eq!(locked_bytes(40_000), locked_bytes(32_768));
    }

    #[test]
    fn kernels_between_count_no_rings() {
        for (release, counts) in [
            ("5.10.0-28-amd64", true),
            ("5.11.22", true),
            ("5.12", false),
            ("6.1.0-18-amd64", false),
            ("6.13.7", false),
            ("6.14.0", true),
            ("6.18.5+", true),
            ("7.0", true),
        ] {
            assert_eq!(takes_locked_memory(release), counts, "{release}");
        }
    }
}

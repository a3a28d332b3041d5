//! The host's own name, the kernel that it runs, and its memory.

use std::fs;

/// The name of the host; empty where the kernel does not tell it.
#[must_use]
pub fn name() -> String {
    kernel_text("hostname")
}

/// Operating system and kernel release, such as `Linux 6.12.0`.
#[must_use]
pub fn kernel() -> String {
    format!("{} {}", kernel_text("ostype"), kernel_text("osrelease")).trim().to_owned()
}

/// The memory of the host in bytes; absent where the kernel does not tell it.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    parse_memory(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The bytes that can still be used of memory and swap areas; absent where the kernel does not tell it.
#[must_use]
pub fn memory_available_bytes() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let of = |field| parse_memory(&meminfo, field);
    Some(of("MemAvailable:")?.saturating_add(of("SwapFree:").unwrap_or(0)))
}

fn parse_memory(meminfo: &str, field: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn kernel_text(name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_linux() {
        assert!(kernel().starts_with("Linux "));
        assert!(!name().contains('\n'));
    }

    #[test]
    fn memory_is_told_in_bytes() {
        let text = "MemTotal:       16337316 kB\nMemFree:  1 kB\n";
        assert_eq!(parse_memory(text, "MemTotal:"), Some(16_337_316 * 1024));
        assert_eq!(parse_memory(text, "MemFree:"), Some(1024));
        assert_eq!(parse_memory(text, "SwapFree:"), None);
        let available = memory_available_bytes().expect("the kernel tells it");
        assert!(available > 0 && memory_bytes().is_some_and(|bytes| bytes > 0));
    }
}

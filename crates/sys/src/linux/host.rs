//! The host's own name and the kernel that it runs.

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
}

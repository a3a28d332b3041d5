//! Copies that leave the processor's caches out: non-temporal stores, for mapped writes that go through.

/// Whether this processor has non-temporal stores that can be used here. SSE2, which has them, is part of
/// every x86-64 processor.
pub const AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// Copies `length` bytes with non-temporal stores, and waits until they have left the processor's buffers
/// (`sfence`). Elsewhere than on x86-64 this is a plain copy.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, and the two must not overlap.
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller keeps both ranges valid and apart.
    unsafe {
        x86_64::copy(from, to, length);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller keeps both ranges valid and apart.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, length);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    const WORD_BYTES: usize = size_of::<__m128i>();

    /// # Safety
    /// As for [`super::copy`].
    pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
        // A non-temporal store goes to a multiple of its own size: what is before and behind is copied.
        let head = to.align_offset(WORD_BYTES).min(length);
        let words = (length - head) / WORD_BYTES;
        let tail_at = head + words * WORD_BYTES;
        // SAFETY: `head` is at most `length`, and the caller keeps both ranges valid and apart.
        unsafe { std::ptr::copy_nonoverlapping(from, to, head) };
        for word in 0..words {
            let at = head + word * WORD_BYTES;
            // SAFETY: `at` plus one word is at most `tail_at`, which is at most `length`; `to.add(head)` is
            // aligned to a word. Every x86-64 processor has SSE2.
            unsafe {
                _mm_stream_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast()));
            }
        }
        // SAFETY: the rest ends with the two ranges; the fence touches no memory.
        unsafe {
            std::ptr::copy_nonoverlapping(from.add(tail_at), to.add(tail_at), length - tail_at);
            _mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        let source: Vec<u8> = (0..200_u8).collect();
        for start in 0..17 {
            for length in [0, 1, 15, 16, 17, 31, 32, 33, 100, 150] {
                let mut to = vec![255_u8; 200];
                // SAFETY: both vectors hold 200 bytes, and 16 + 150 are fewer.
                unsafe { copy(source.as_ptr().add(3), to.as_mut_ptr().add(start), length) };
                assert_eq!(&to[start..start + length], &source[3..3 + length]);
                assert!(to[..start].iter().chain(&to[start + length..]).all(|byte| *byte == 255));
            }
        }
    }
}

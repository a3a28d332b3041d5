//! Audio streams without a file header: several frames must follow one another.

use super::Samples;

/// Frames that must follow one another before they count.
const FRAMES: usize = 4;

/// An `ID3` tag: version 2 to 4, unused flags 0, and a length in bytes of seven bits.
pub(super) fn tagged_mp3(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 10)?;
    let sensible = matches!(head[3], 2..=4) && head[4] < 16 && head[5] << 4 == 0;
    Some(head.starts_with(b"ID3") && sensible && head[6..].iter().all(|&byte| byte < 0x80))
}

/// Frames of MPEG audio, layer III.
pub(super) fn mp3(samples: &Samples) -> Option<bool> {
    chain(samples, mp3_frame_bytes)
}

/// Frames of AAC in ADTS form.
pub(super) fn aac(samples: &Samples) -> Option<bool> {
    chain(samples, aac_frame_bytes)
}

/// Whether the head starts with a chain of frames, each found where the one before it ends.
fn chain(samples: &Samples, frame_bytes: fn(&[u8]) -> Option<usize>) -> Option<bool> {
    let mut at = 0;
    for _ in 0..FRAMES {
        let header = samples.head().get(at..at + 6)?;
        at += frame_bytes(header)?;
    }
    Some(true)
}

/// Bit rates of layer III in kbit/s, for MPEG 1 and for its half-rate forms (ISO 11172-3, 13818-3).
const KILOBITS: [[usize; 14]; 2] = [
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const HERTZ: [usize; 3] = [44_100, 48_000, 32_000];

fn mp3_frame_bytes(header: &[u8]) -> Option<usize> {
    let synchronised = header[0] == 0xFF && header[1] & 0xE6 == 0xE2;
    let version = (header[1] >> 3) & 3;
    if !synchronised || version == 1 {
        return None;
    }
    let half_rate = version != 3;
    let rate_index = usize::from(header[2] >> 4).checked_sub(1)?;
    let bits = KILOBITS[usize::from(half_rate)].get(rate_index)? * 1000;
    let divisor = [4, 0, 2, 1][usize::from(version)];
    let hertz = HERTZ.get(usize::from((header[2] >> 2) & 3))? / divisor;
    let padding = usize::from((header[2] >> 1) & 1);
    Some(if half_rate { 72 } else { 144 } * bits / hertz + padding)
}

fn aac_frame_bytes(header: &[u8]) -> Option<usize> {
    let synchronised = header[0] == 0xFF && header[1] & 0xF6 == 0xF0;
    let length = usize::from(header[3] & 3) << 11
        | usize::from(header[4]) << 3
        | usize::from(header[5] >> 5);
    (synchronised && length > 7).then_some(length)
}

//! Documents, archives, programs and databases that the crate `infer` knows, and text.

use infer::{app, archive, audio, book, doc, font, image, odf, video};

type Test = fn(&[u8]) -> bool;

/// What data are called that begin so, if that is known.
pub(super) fn name(head: &[u8]) -> Option<String> {
    let other = || infer::get(head).map(|found| format!("data of the type {}", found.mime_type()));
    strong(head).map(str::to_owned).or_else(other)
}

/// The name of what is known by four bytes or more, which random data do not meet by chance.
pub(super) fn strong(head: &[u8]) -> Option<&'static str> {
    let known = FORMATS.iter().find(|(test, _)| test(head)).map(|entry| entry.1);
    known.or_else(|| is_text(head).then_some("text"))
}

/// Fewer bytes than this may be printable by chance.
const TEXT_BYTES_MIN: usize = 4;

/// Whether the bytes, without the zeros that follow them, are printable.
fn is_text(head: &[u8]) -> bool {
    let end = head.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let text = &head[..end];
    // A character may be cut off at the end of what was read.
    let valid = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or("")
        }
        Err(_) => "",
    };
    let is_printable = |one: char| !one.is_control() || one.is_ascii_whitespace() || one == '\x1B';
    valid.len() >= TEXT_BYTES_MIN && valid.chars().all(is_printable)
}

/// Special forms stand before the general ones that they are made of.
const FORMATS: &[(Test, &str)] = &[
    (doc::is_docx, "a Word document"),
    (doc::is_xlsx, "an Excel workbook"),
    (doc::is_pptx, "a PowerPoint presentation"),
    (odf::is_odt, "an OpenDocument text"),
    (odf::is_ods, "an OpenDocument spreadsheet"),
    (odf::is_odp, "an OpenDocument presentation"),
    (book::is_epub, "an EPUB book"),
    (book::is_mobi, "a Mobipocket book"),
    (archive::is_msi, "a Microsoft Office document or installer"),
    (archive::is_sqlite, "a SQLite database"),
    (archive::is_pdf, "a PDF document"),
    (archive::is_rtf, "an RTF document"),
    (archive::is_zip, "a ZIP archive"),
    (archive::is_tar, "a tar archive"),
    (archive::is_par2, "a PAR2 archive"),
    (archive::is_rar, "a RAR archive"),
    (archive::is_bz3, "a bzip3 archive"),
    (archive::is_7z, "a 7-Zip archive"),
    (archive::is_xz, "an xz archive"),
    (archive::is_zst, "a Zstandard archive"),
    (archive::is_lz4, "an LZ4 archive"),
    (archive::is_lz, "an lzip archive"),
    (archive::is_cab, "a cabinet archive"),
    (archive::is_deb, "a Debian package"),
    (archive::is_rpm, "an RPM package"),
    (archive::is_ar, "a library archive"),
    (archive::is_crx, "a browser extension"),
    (archive::is_dcm, "a DICOM image"),
    (archive::is_nes, "a cartridge image"),
    (image::is_png, "a PNG image"),
    (image::is_jpeg2000, "a JPEG 2000 image"),
    (image::is_webp, "a WebP image"),
    (image::is_psd, "a Photoshop image"),
    (image::is_heif, "a HEIF image"),
    (image::is_avif, "an AVIF image"),
    (image::is_ora, "an OpenRaster image"),
    (image::is_djvu, "a DjVu document"),
    (video::is_mkv, "a Matroska video"),
    (video::is_webm, "a Matroska or WebM video"),
    (video::is_mov, "a QuickTime video"),
    (video::is_avi, "an AVI video"),
    (video::is_wmv, "a Windows Media file"),
    (video::is_flv, "a Flash video"),
    (audio::is_midi, "a MIDI file"),
    (audio::is_m4a, "an MPEG-4 audio file"),
    (audio::is_ogg, "an Ogg file"),
    (audio::is_flac, "a FLAC audio file"),
    (audio::is_wav, "a WAV audio file"),
    (audio::is_amr, "an AMR audio file"),
    (audio::is_aiff, "an AIFF audio file"),
    (audio::is_dsf, "a DSD audio file"),
    (audio::is_ape, "a Monkey's Audio file"),
    (font::is_woff, "a font"),
    (font::is_woff2, "a font"),
    (font::is_otf, "a font"),
    (app::is_wasm, "a WebAssembly module"),
    (app::is_elf, "an ELF executable or core dump"),
    (app::is_mach, "a Mach-O executable"),
    (app::is_java, "a Java class"),
    (app::is_dex, "an Android executable"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_forms_win_over_general_ones() {
        let mut docx = b"PK\x03\x04".to_vec();
        docx.resize(30, 0);
        docx.extend_from_slice(b"word/document.xml");
        docx.resize(4096, 0);
        assert_eq!(strong(&docx), Some("a Word document"));
        docx[30] = b'x';
        assert_eq!(strong(&docx), Some("a ZIP archive"));
    }

    #[test]
    fn text_is_known_also_before_zeros_and_where_a_character_is_cut() {
        let mut words = "milk, bread and cr\u{e8}me".as_bytes().to_vec();
        assert_eq!(strong(&words), Some("text"));
        words.truncate(words.len() - 3);
        assert_eq!(strong(&words), Some("text"));
        words.extend([0; 500]);
        assert_eq!(strong(&words), Some("text"));
        words.push(7);
        assert_eq!(strong(&words), None);
        assert_eq!(strong(&[b'A'; 3]), None);
        assert_eq!(name(b"\x1F\x8B\x08\x00"), Some("data of the type application/gzip".to_owned()));
    }

    #[test]
    fn no_test_panics_on_short_heads() {
        let starts: [&[u8]; 5] =
            [b"PK\x03\x04", b"\x50\x2A\x4D\x18", b"dex\n", b"\0\0\0\x20ftyp", b"\xCA\xFE\xBA\xBE"];
        for start in starts {
            for length in 0..120 {
                let mut data = start.to_vec();
                data.resize(length, 0xFF);
                let _ = name(&data);
            }
        }
    }
}

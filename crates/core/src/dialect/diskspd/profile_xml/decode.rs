//! The bytes of a profile become text. Windows PowerShell redirects output (`>`, `Out-File`) into UTF-16, and
//! editors there may write the code page of western Europe.

use super::read::TEXT_LIMIT_BYTES;

/// What to do about a text that cannot be read.
const REMEDY: &str = "Save it as UTF-8";

/// The characters of windows-1252 from 0x80 to 0x9f; those that it leaves free are control characters.
const WINDOWS_1252: [u16; 32] = [
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
    0x0152, 0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
];

/// The text of a profile: UTF-8, UTF-16 with its mark or known by its first `<`, or what its declaration
/// names.
///
/// # Errors
/// A sentence that names the line and says what to do.
pub fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > TEXT_LIMIT_BYTES {
        return Err(super::ProfileXmlError::TooLarge.to_string());
    }
    match bytes[..] {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Err(format!("is UTF-32 text. {REMEDY}")),
        [0xff, 0xfe, ref text @ ..] => utf_16(text, u16::from_le_bytes),
        [0xfe, 0xff, ref text @ ..] => utf_16(text, u16::from_be_bytes),
        [b'<', 0, ..] => utf_16(&bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf_16(&bytes, u16::from_be_bytes),
        _ => by_declaration(bytes),
    }
}

fn utf_16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> Result<String, String> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len() / 2);
    for character in char::decode_utf16(units) {
        let broken = |_| {
            let line = line_behind(text.as_bytes());
            format!("line {line}: is UTF-16 text with half a character. {REMEDY}")
        };
        text.push(character.map_err(broken)?);
    }
    if bytes.len().is_multiple_of(2) {
        return Ok(text);
    }
    let line = line_behind(text.as_bytes());
    Err(format!("line {line}: is UTF-16 text that ends within a character. {REMEDY}"))
}

/// A text of single bytes: UTF-8 unless its declaration names something else.
fn by_declaration(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.is_ascii() {
        // The same in all of these encodings.
        return utf_8(bytes);
    }
    let Some(name) = declared(&bytes) else { return utf_8(bytes) };
    match name.to_ascii_lowercase().as_str() {
        // The declaration itself would be something else in UTF-16.
        "utf-8" | "utf8" | "utf-16" | "utf-16le" | "utf-16be" | "unicode" => utf_8(bytes),
        "iso-8859-1" | "iso_8859-1" | "iso8859-1" | "latin1" | "latin-1" => {
            Ok(bytes.iter().copied().map(char::from).collect())
        }
        "windows-1252" | "cp1252" => Ok(bytes.iter().copied().map(windows_1252).collect()),
        "us-ascii" | "ascii" => {
            let line = line_behind(bytes.split(|byte| !byte.is_ascii()).next().unwrap_or_default());
            Err(format!("line {line}: is not {name} text, as its declaration says. {REMEDY}"))
        }
        _ => Err(format!("line 1: declares the encoding '{name}', which is not known. {REMEDY}")),
    }
}

fn windows_1252(byte: u8) -> char {
    let special = byte.checked_sub(0x80).and_then(|index| WINDOWS_1252.get(usize::from(index)));
    special.and_then(|&code| char::from_u32(code.into())).unwrap_or(char::from(byte))
}

fn utf_8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let line = line_behind(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        format!(
            "line {line}: is not UTF-8 text. {REMEDY}, or declare its encoding in the first line"
        )
    })
}

/// The line in which a text ends.
fn line_behind(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count()
}

/// The encoding that the XML declaration names.
fn declared(bytes: &[u8]) -> Option<&str> {
    /// No declaration is longer.
    const LONGEST: usize = 256;
    let head = bytes[..bytes.len().min(LONGEST)].strip_prefix(b"<?xml")?;
    let end = head.windows(2).position(|pair| pair == b"?>")?;
    let (_, value) = str::from_utf8(&head[..end]).ok()?.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    value[1..].split_once(quote).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<Profile>\n<Path>größe € 😀</Path></Profile>";

    fn utf_16_of(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn what_powershell_redirects_was_refused() {
        let declared = format!("<?xml version=\"1.0\" encoding=\"utf-16\"?>\n{TEXT}");
        for text in [TEXT, &declared] {
            let marked = format!("\u{feff}{text}");
            assert_eq!(decode(utf_16_of(&marked, u16::to_le_bytes)).as_deref(), Ok(text));
            assert_eq!(decode(utf_16_of(&marked, u16::to_be_bytes)).as_deref(), Ok(text));
            assert_eq!(decode(utf_16_of(text, u16::to_le_bytes)).as_deref(), Ok(text));
            assert_eq!(decode(utf_16_of(text, u16::to_be_bytes)).as_deref(), Ok(text));
            // A text that was made UTF-8 keeps its declaration.
            assert_eq!(decode(text.as_bytes().to_vec()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn single_bytes_are_read_as_the_declaration_says() {
        let read = |name: &str, byte: u8| {
            let mut bytes = format!("<?xml version='1.0' encoding='{name}'?><P>").into_bytes();
            bytes.extend([byte, b'<', b'/', b'P', b'>']);
            decode(bytes).map(|text| text.split("<P>").nth(1).unwrap().chars().next().unwrap())
        };
        assert_eq!(read("ISO-8859-1", 0xfc), Ok('ü'));
        assert_eq!(read("windows-1252", 0xfc), Ok('ü'));
        assert_eq!(read("Windows-1252", 0x80), Ok('€'));
        assert_eq!(read("us-ascii", b'u'), Ok('u'));
        assert_eq!(read("shift_jis", b'u'), Ok('u'));
    }

    #[test]
    fn what_cannot_be_read_names_line_and_remedy() {
        let declared = |name: &str| format!("<?xml version=\"1.0\" encoding=\"{name}\"?>\nü");
        let half =
            [&utf_16_of("\u{feff}<a>\n", u16::to_le_bytes)[..], &[0, 0xd8, b'x', 0]].concat();
        for (bytes, words) in [
            (half, "line 2: is UTF-16 text with half a character"),
            (vec![0xff, 0xfe, b'<'], "line 1: is UTF-16 text that ends within a character"),
            (vec![0xff, 0xfe, 0, 0, b'<', 0, 0, 0], "is UTF-32 text"),
            (b"<a>\n\xff".to_vec(), "line 2: is not UTF-8 text"),
            (declared("us-ascii").into_bytes(), "line 2: is not us-ascii text"),
            (declared("KOI8-R").into_bytes(), "line 1: declares the encoding 'KOI8-R'"),
        ] {
            let error = decode(bytes).unwrap_err();
            assert!(error.starts_with(words) && error.contains("Save it as UTF-8"), "{error}");
        }
        assert!(decode(vec![0; TEXT_LIMIT_BYTES + 1]).unwrap_err().contains("64 MiB"));
    }
}

//! Text from outside, as people see it: names of files and devices, labels, process names, words of a
//! profile.
//!
//! Whatever goes to a terminal, a text result or a line of standard error passes here. A name can then
//! neither move the cursor, nor turn the direction of writing, nor begin a line of its own, and the
//! password of an address is not shown. JSON is exact ([`in_json`]), and a result's own data are never
//! changed.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// Bytes that are no text, as characters for private use at the end of Unicode.
const STRAY_BYTES: RangeInclusive<u32> = 0x10_fe00..=0x10_feff;

/// Words whose value is a secret, when `=` stands behind them.
const SECRET_WORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "access_key"];

/// Where a value of such a word ends.
const VALUE_ENDS: [char; 6] = ['&', ';', '\'', '"', ',', ' '];

/// Text as people see it: one line, without control characters, without secrets. What needs nothing of that
/// stays as it is.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    match without_secrets(text) {
        Cow::Borrowed(text) => escape(text),
        Cow::Owned(text) => Cow::Owned(escape(&text).into_owned()),
    }
}

/// Bytes that should be text, such as a name in a file system, for [`shown`], which writes what is not
/// UTF-8 as `\xNN`. Until then each such byte is a character of its own that no text has (`STRAY_BYTES`).
#[must_use]
pub fn from_os(bytes: &OsStr) -> String {
    let mut text = String::new();
    for chunk in bytes.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        let strays = chunk.invalid().iter().map(|byte| STRAY_BYTES.start() + u32::from(*byte));
        text.extend(strays.filter_map(char::from_u32));
    }
    text
}

/// Control characters as `\x1b` (one byte) or `\u{202e}`. A backslash that would read as the beginning of
/// such an escape is written as `\x5c`, so that each text has a form of its own.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(at, one)| must_go(text, *at, *one)) else {
        return Cow::Borrowed(text);
    };
    let mut escaped = text[..first.0].to_owned();
    for (at, one) in text.char_indices().skip_while(|(at, _)| *at < first.0) {
        match u32::from(one) {
            _ if !must_go(text, at, one) => escaped.push(one),
            number if STRAY_BYTES.contains(&number) => {
                escaped.push_str(&format!("\\x{:02x}", number - STRAY_BYTES.start()));
            }
            number @ 0..0x80 => escaped.push_str(&format!("\\x{number:02x}")),
            number => escaped.push_str(&format!("\\u{{{number:x}}}")),
        }
    }
    Cow::Owned(escaped)
}

fn must_go(text: &str, at: usize, one: char) -> bool {
    is_hostile(one) || one == '\\' && begins_an_escape(&text[at + 1..])
}

/// Whether a terminal or a reader would do something else than show it: control characters, marks that turn
/// the direction of writing, ends of lines, and what cannot be seen at all.
#[must_use]
pub fn is_hostile(one: char) -> bool {
    one.is_control()
        || STRAY_BYTES.contains(&u32::from(one))
        || matches!(
            one,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Whether a backslash before this reads as an escape that [`escape`] or [`shown_bytes`] writes. `\x64`
/// does not, as no letter is ever escaped; nor does `\new`.
fn begins_an_escape(rest: &str) -> bool {
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    if let Some(rest) = rest.strip_prefix("u{") {
        let number = rest.split_once('}').and_then(|(number, _)| hex(number));
        return number.and_then(char::from_u32).is_some_and(is_hostile);
    }
    let byte = rest.strip_prefix('x').and_then(|rest| rest.get(..2)).and_then(hex);
    byte.is_some_and(|byte| byte < 0x20 || byte == 0x5c || byte >= 0x7f)
}

/// The text without passwords of addresses (`scheme://user:password@host`) and values of `password=` and
/// the like.
#[must_use]
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let hidden =
        if text.contains("://") { without_user_secrets(text) } else { Cow::Borrowed(text) };
    if !hidden.contains('=') {
        return hidden;
    }
    Cow::Owned(without_values(&hidden))
}

fn without_user_secrets(text: &str) -> Cow<'_, str> {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        // A password may itself hold an @: the last one of the word ends it.
        let end = behind.find(|one: char| one.is_whitespace() || one == '\'' || one == '"');
        let word = &behind[..end.unwrap_or(behind.len())];
        let secret = word.rfind('@').and_then(|at| Some((word[..at].find(':')?, at)));
        let Some((colon, at)) = secret else {
            rest = behind;
            continue;
        };
        shown.push_str(&word[..=colon]);
        shown.push_str(HIDDEN);
        rest = &behind[at..];
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn without_values(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(equals) = text[at..].find('=').map(|found| at + found + 1) {
        shown.push_str(&text[at..equals]);
        at = equals;
        if SECRET_WORDS.iter().any(|word| lower[..equals - 1].ends_with(word)) {
            let end = text[at..].find(|one: char| one.is_whitespace() || VALUE_ENDS.contains(&one));
            let end = end.map_or(text.len(), |end| at + end);
            shown.push_str(if end > at { HIDDEN } else { "" });
            at = end;
        }
    }
    shown.push_str(&text[at..]);
    shown
}

/// What is to be shown as text, with each of its strings as people see it. What needs nothing of that is not
/// touched.
///
/// It goes through JSON, which all that is shown can be turned into and back, so that no string is forgotten.
#[must_use]
pub fn of<T: Serialize + DeserializeOwned>(value: &T) -> Option<T> {
    let mut tree = serde_json::to_value(value).ok()?;
    if !clean(&mut tree) {
        return None;
    }
    serde_json::from_value(tree).ok()
}

/// Whether anything was changed.
fn clean(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match shown(text) {
            Cow::Owned(other) if other != *text => {
                *text = other;
                true
            }
            _ => false,
        },
        Value::Array(values) => values.iter_mut().fold(false, |changed, one| clean(one) | changed),
        Value::Object(fields) => {
            fields.iter_mut().fold(false, |changed, (_, one)| clean(one) | changed)
        }
        _ => false,
    }
}

/// The same JSON, with every character that a terminal would act on written as `\uXXXX`.
#[must_use]
pub fn in_json(json: String) -> String {
    let acts = |one: char| one != '\n' && is_hostile(one);
    if !json.contains(acts) {
        return json;
    }
    let mut text = String::with_capacity(json.len());
    for one in json.chars() {
        if acts(one) {
            let mut units = [0; 2];
            one.encode_utf16(&mut units)
                .iter()
                .for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        } else {
            text.push(one);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn normal_names_stay_as_they_are() {
        for name in [
            "/data/t.dat",
            r"C:\x64\new\test.dat",
            r"\\.\PhysicalDrive1",
            "Größe 大小 \u{1f600}",
            "",
            "a=b",
            "--allow-write=sda:12",
            "http://host:80/path",
            "--stop-pass",
        ] {
            assert!(matches!(shown(name), Cow::Borrowed(_)) || shown(name) == name, "{name}");
        }
    }

    #[test]
    fn what_acts_on_a_terminal_is_spelled_out() {
        for (name, words) in [
            ("a\x1b[31mb", r"a\x1b[31mb"),
            ("a\nERROR: b", r"a\x0aERROR: b"),
            ("\x07\t\r\x7f", r"\x07\x09\x0d\x7f"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("gpj\u{202e}.exe", r"gpj\u{202e}.exe"),
            (r"a\x1b", r"a\x5cx1b"),
            (r"a\u{9b}", r"a\x5cu{9b}"),
            (r"\x5c", r"\x5cx5c"),
        ] {
            assert_eq!(shown(name), words);
        }
        let name = OsStr::from_bytes(b"a\xff\xed\xa0\x80\x1bb");
        assert_eq!(shown(&from_os(name)), r"a\xff\xed\xa0\x80\x1bb");
    }

    #[test]
    fn different_names_are_shown_differently() {
        let pieces = ["\x1b", r"\x1b", "\\", "x1b", "\\x5c", "\u{9b}", r"\u{9b}", "u{9b}", "a"];
        let mut seen = std::collections::BTreeMap::new();
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let name = [first, second, third].concat();
                    let words = escape(&name).into_owned();
                    let known = seen.entry(words.clone()).or_insert_with(|| name.clone());
                    assert_eq!(*known, name, "{words}");
                }
            }
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for (text, words) in [
            ("postgresql://host/db?user=u&password=P", "postgresql://host/db?user=u&password=***"),
            ("nfs://user:p@ss@host/x", "nfs://user:***@host/x"),
            ("cannot open 'smb://u:p/w?#@h/x' now", "cannot open 'smb://u:***@h/x' now"),
            ("PGPASSWORD=x a Secret=y;b", "PGPASSWORD=*** a Secret=***;b"),
            ("a://b:c@d e://f:g@h", "a://b:***@d e://f:***@h"),
        ] {
            assert_eq!(shown(text), words);
        }
    }

    #[test]
    fn json_is_the_same_value_without_what_acts_on_a_terminal() {
        let name = "a\x1b\u{9b}\u{202e}\u{e0041}\x7fb";
        let json = in_json(serde_json::to_string_pretty(&[name]).unwrap());
        assert!(!json.contains(|one: char| one != '\n' && is_hostile(one)), "{json}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [name]);
    }
}

//! Usage text, manual page and reference page, all from the table of options.

use std::fmt::Write as _;

use super::flags::{self, Category, Flag};

const CATEGORIES: [Category; 8] = [
    Category::Access,
    Category::Caching,
    Category::Load,
    Category::Stop,
    Category::Faults,
    Category::Output,
    Category::System,
    Category::Beyond,
];

/// How targets are written: form and meaning.
const TARGETS: [(&str, &str); 3] = [
    ("<path>", "a file, or a device such as /dev/nvme0n1"),
    ("#<n>", "the n-th whole disk of --list"),
    ("*<n>", "a template target of a profile (-X)"),
];

/// Exit codes: number and meaning.
pub const EXIT_CODES: [(u8, &str); 8] = [
    (0, "the run is complete, or what was requested has been shown"),
    (1, "the run failed; a report is printed all the same"),
    (2, "refused, to protect data: nothing was created, truncated or written"),
    (3, "the command line or the profile is wrong; nothing was touched"),
    (4, "verification found faults; the result tells them"),
    (5, "the measured time passed, and no I/O completed in it"),
    (
        6,
        "verification found no fault, but its journal is damaged, so that some blocks are not known",
    ),
    (130, "the run was interrupted; the partial result is printed"),
];

fn of(category: Category) -> impl Iterator<Item = &'static Flag> {
    flags::all().filter(move |flag| flag.category == category)
}

/// The usage text.
#[must_use]
pub fn usage() -> String {
    let mut text = String::from("Usage: diskspd [options] target1 [target2 ...]\n\nTargets:\n");
    for (form, meaning) in TARGETS {
        push(&mut text, &format!("  {form:<28}  {meaning}\n"));
    }
    for category in CATEGORIES {
        push(&mut text, &format!("\n{}:\n", category.title()));
        for flag in of(category) {
            push_usage(&mut text, flag);
        }
    }
    text.push_str("\nExit codes:\n");
    for (code, meaning) in EXIT_CODES {
        push(&mut text, &format!("  {code:<4}  {meaning}\n"));
    }
    text.push_str(
        "\nExample: a mixed random load of 8 KiB on a new file of 1 GiB, past the page cache:\n  \
         diskspd -c1G -b8K -r -w30 -o8 -t2 -d30 -Sh -L test.dat\n",
    );
    text
}

fn push(text: &mut String, more: &str) {
    text.push_str(more);
}

fn push_usage(text: &mut String, flag: &Flag) {
    let default = match flag.default {
        "off" => String::new(),
        default => format!(" [default: {default}]"),
    };
    if flag.form.len() <= 28 {
        push(text, &format!("  {:<28}  {}{default}\n", flag.form, flag.short));
    } else {
        push(text, &format!("  {}\n  {:<28}  {}{default}\n", flag.form, "", flag.short));
    }
}

/// The manual page, in roff.
#[must_use]
pub fn man_page() -> String {
    let mut text = String::from(
        ".TH DISKSPD 1\n.nh\n.ad l\n.SH NAME\ndiskspd \\- measure storage\n.SH SYNOPSIS\n.B diskspd\n\
         [options] target ...\n.SH DESCRIPTION\nGenerates I/O load on files and devices and \
         measures throughput, IOPS, latency and CPU use.\nThe command line is that of Microsoft's \
         DiskSpd 2.2.\n",
    );
    for category in CATEGORIES {
        push(&mut text, &format!(".SH {}\n", category.title().to_uppercase()));
        for flag in of(category) {
            let form = roff_form(flag.form);
            push(&mut text, &format!(".TP\n.B {form}\n{}\n", roff(&sentences(flag))));
        }
    }
    text.push_str(".SH EXIT STATUS\n");
    for (code, meaning) in EXIT_CODES {
        push(&mut text, &format!(".TP\n.B {code}\n{}.\n", roff(meaning)));
    }
    text
}

/// All that an entry says, as running text.
fn sentences(flag: &Flag) -> String {
    let mut text = flag.long.to_owned();
    let with = [("Default", flag.default), ("Limits", flag.limits)];
    for (name, value) in with.into_iter().filter(|(_, value)| !value.is_empty()) {
        // Writing to a String cannot fail.
        let _written = write!(text, " {name}: {value}.");
    }
    for more in [flag.here, flag.deviation].into_iter().filter(|more| !more.is_empty()) {
        text.push(' ');
        text.push_str(more);
    }
    text
}

fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

/// The form of an option. One that is longer than a line may be broken between its parts, without a hyphen,
/// which would be taken for one of its own.
fn roff_form(form: &str) -> String {
    const LINE_COLUMNS: usize = 70;
    let whole = roff(form);
    if form.len() <= LINE_COLUMNS {
        return whole;
    }
    whole.replace("[,", "\\:[,").replace('|', "|\\:")
}

/// The reference page, in Markdown.
#[must_use]
pub fn reference_page() -> String {
    let mut text = String::from(
        "# diskspd: every option\n\nThis page is generated from the table of options; do not edit \
         it.\n\nEach option is one argument (`-b4K`, never `-b 4K`), and all options stand before \
         the first target. Sizes are whole numbers with `K`, `M`, `G`, `T` (powers of 1024, either \
         case) or `b` (blocks of `-b`).\n\n| target | meaning |\n|---|---|\n",
    );
    for (form, meaning) in TARGETS {
        push(&mut text, &format!("| `{form}` | {meaning} |\n"));
    }
    for category in CATEGORIES {
        push(&mut text, &format!("\n## {}\n", category.title()));
        for flag in of(category) {
            push_reference(&mut text, flag);
        }
    }
    text.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in EXIT_CODES {
        push(&mut text, &format!("| {code} | {meaning} |\n"));
    }
    text
}

fn push_reference(text: &mut String, flag: &Flag) {
    push(text, &format!("\n### `{}`\n\n{}\n\n", flag.form, flag.long));
    for (name, value) in [
        ("unit", flag.unit),
        ("default", flag.default),
        ("limits", flag.limits),
        ("on Linux", flag.here),
        ("differs from DiskSpd", flag.deviation),
    ] {
        if !value.is_empty() {
            push(text, &format!("- **{name}**: {value}\n"));
        }
    }
    push(text, &format!("- **example**: `{}`\n", flag.example));
}

//! Golden cases that this tool answers otherwise, each with its reason. Keep the list short: a case
//! that agrees must not stand here.

/// Trailing characters behind a number are refused.
const JUNK: &str = "characters behind a count are refused (DiskSpd reads it with atoi)";
/// Windows' switch character is Linux' path separator.
const SLASH: &str = "`/` begins a path on Linux and never an option";
/// A rate that the real tool loses in 32 bits conflicts with -x as any other rate.
const RATE: &str = "a rate that DiskSpd rounds to no limit is a rate here, and excludes -x";
/// Whether a CPU exists is checked when the run is resolved against the machine.
const ON_RUN: &str = "whether a CPU or group exists is checked when a run is resolved";

/// Case and reason.
pub const DEVIATIONS: &[(&str, &str)] = &[
    ("general//Rpxml /b4K t.dat", SLASH),
    ("general/-Rpxml /b4K -r t.dat", SLASH),
    ("general// t.dat", SLASH),
    ("norp/-ag5,0 t.dat", ON_RUN),
    ("norp/-a77 t.dat", ON_RUN),
    ("b/-b0", "a block of 0 bytes is refused"),
    ("ovf/-a4294967296", "a CPU number beyond 255 is refused (DiskSpd lets it wrap)"),
    ("d/-dx", JUNK),
    ("d/-d5x", JUNK),
    ("C/-C7s", JUNK),
    ("D/-Dx", JUNK),
    ("F/-F4x", JUNK),
    ("t/-t2x", JUNK),
    ("w/-wx", JUNK),
    ("w/-w0x", JUNK),
    ("r/-rs50x", JUNK),
    ("g/-g100ii", JUNK),
    ("g/-g1.5", JUNK),
    ("g/-g1.5i", JUNK),
    ("g/-b512 -g1i -x", RATE),
    ("gx/-g1i -b999 -x", RATE),
];

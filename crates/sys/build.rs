//! Where `FATHOM_LIBBLKID` names a folder with a `libblkid.a`, it becomes part of the program: a static
//! binary cannot load it.

use std::env::var_os;
use std::io::{self, Write};
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let mut cargo = io::stdout();
    writeln!(cargo, "cargo::rustc-check-cfg=cfg(carried_libblkid)")?;
    writeln!(cargo, "cargo::rerun-if-env-changed=FATHOM_LIBBLKID")?;
    writeln!(cargo, "cargo::rerun-if-changed=build.rs")?;
    if let Some(folder) = var_os("FATHOM_LIBBLKID").map(PathBuf::from) {
        writeln!(cargo, "cargo::rustc-link-search=native={}", folder.display())?;
        writeln!(cargo, "cargo::rustc-link-lib=static=blkid")?;
        writeln!(cargo, "cargo::rustc-cfg=carried_libblkid")?;
    }
    Ok(())
}

//! Where `FATHOM_LIBBLKID` names a folder with a `libblkid.a`, it becomes part of the program: a static
//! binary cannot load it.

use std::env::var_os;
use std::path::PathBuf;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(carried_libblkid)");
    println!("cargo::rerun-if-env-changed=FATHOM_LIBBLKID");
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(folder) = var_os("FATHOM_LIBBLKID").map(PathBuf::from) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static=blkid");
        println!("cargo::rustc-cfg=carried_libblkid");
    }
}

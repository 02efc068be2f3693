//! Packs the PTX: as text it is ten times as large.

use std::env::var_os;
use std::path::PathBuf;
use std::{fs, io};

fn main() -> io::Result<()> {
    const PTX: &str = "ptx/study.ptx";
    println!("cargo::rerun-if-changed={PTX}");
    let out = PathBuf::from(var_os("OUT_DIR").expect("cargo says where to"));
    fs::write(out.join("study.ptx.lz4"), lz4_flex::block::compress_prepend_size(&fs::read(PTX)?))
}

//! Packs the PTX that ships: as text it is ten times as large, and a program seldom needs it.

use std::env::var_os;
use std::path::PathBuf;
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=ptx");
    let out = PathBuf::from(var_os("OUT_DIR").expect("cargo says where to"));
    for file in fs::read_dir("ptx")? {
        let file = file?;
        let packed = lz4_flex::block::compress_prepend_size(&fs::read(file.path())?);
        let mut name = file.file_name();
        name.push(".lz4");
        fs::write(out.join(name), packed)?;
    }
    Ok(())
}

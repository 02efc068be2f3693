//! How what ships is packed: by the end of the file's name.
//!
//! | end | format | for |
//! |---|---|---|
//! | `.lz4` | the number of bytes, 32 bits, and an LZ4 block | machine code that the first launch of most programs waits for: it expands in 0.1 ms |
//! | `.lzma` | LZMA with the header of a file | everything else: smaller by half, and expands at 80 MB a second |
//!
//! In a PTX the numbers of registers are told by distances first ([`registers`]).

#[path = "../../../transpose/src/image/registers.rs"]
mod numbers;
mod registers;

use anyhow::{Context, Result, bail, ensure};
use lz4::block::CompressionMode::HIGHCOMPRESSION;
use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

/// How far back LZMA looks: further than most files are long, and a multiple of 2²⁴, by which the library tells a file from an LZ4 block.
const DICTIONARY: u32 = 1 << 24;

/// What a file of that name holds if it is to expand to `bytes`.
pub fn pack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    match ending(path) {
        "lz4" => Ok(lz4::block::compress(bytes, Some(HIGHCOMPRESSION(12)), true)?),
        "lzma" => {
            let bytes = if is_text(path) { registers::distances(bytes)? } else { bytes.to_vec() };
            let mut writer =
                LzmaWriter::new_use_header(Vec::new(), &options(path), Some(bytes.len() as u64))?;
            writer.write_all(&bytes)?;
            Ok(writer.finish()?)
        }
        other => bail!("{}: nothing is packed as {other:?}", path.display()),
    }
}

/// What a file in the repository expands to.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let file = fs::read(path).with_context(|| path.display().to_string())?;
    unpack(path, &file)
}

/// What a file of that name expands to. As strict as the library: a file that it would not expand is an error here.
fn unpack(path: &Path, file: &[u8]) -> Result<Vec<u8>> {
    let name = || path.display().to_string();
    match ending(path) {
        "lz4" => {
            let bytes = lz4::block::decompress(file, None).with_context(name)?;
            let length = u32::try_from(bytes.len())?.to_le_bytes();
            ensure!(file.starts_with(&length), "{} is damaged: a wrong length", name());
            Ok(bytes)
        }
        "lzma" => {
            let mut bytes = Vec::new();
            let reader = LzmaReader::new_mem_limit(file, u32::MAX, None);
            reader.and_then(|mut reader| reader.read_to_end(&mut bytes)).with_context(name)?;
            if is_text(path) {
                return numbers::numbered(&bytes, usize::MAX).with_context(name);
            }
            Ok(bytes)
        }
        other => bail!("{}: nothing is packed as {other:?}", name()),
    }
}

/// The most thorough search; what is likely next depends on the byte before in a text, and on the place among 16 bytes, which are an instruction, in machine code.
fn options(path: &Path) -> LzmaOptions {
    let (lc, lp, pb) = if is_text(path) { (2, 0, 0) } else { (0, 4, 4) };
    let most = LzmaOptions::with_preset(9);
    LzmaOptions { dict_size: DICTIONARY, lc, lp, pb, nice_len: 273, depth_limit: 1000, ..most }
}

/// Whether a file holds PTX.
fn is_text(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("ptx"))
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use std::path::Path;

    #[test]
    fn files_expand_to_what_they_were() {
        let bytes = b"sixteen bytes, sixteen bytes, sixteen bytes, sixteen".as_slice();
        for name in ["a.cubin.lz4", "a.cubin.lzma", "a.ptx.lzma"] {
            let path = Path::new(name);
            let packed = pack(path, bytes).unwrap();
            assert_eq!(unpack(path, &packed).unwrap(), bytes);
            assert!(unpack(path, &packed[..packed.len() - 1]).is_err(), "{name}");
        }
        assert!(pack(Path::new("a.zip"), bytes).is_err());
    }
}

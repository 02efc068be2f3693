//! How what ships is packed: by the end of the file's name.
//!
//! | end | format | for |
//! |---|---|---|
//! | `.lz4` | the number of bytes, 32 bits, and an LZ4 block | machine code that the first launch of most programs waits for: it expands in 0.1 ms |
//! | `.zst` | a Zstandard frame | everything else: smaller by 40 %, and expands at a tenth of that speed |

use anyhow::{Context, Result, bail, ensure};
use lz4::block::CompressionMode::HIGHCOMPRESSION;
use std::path::Path;

/// The most thorough of Zstandard's levels.
const LEVEL: i32 = 22;

/// What a file of that name holds if it is to expand to `bytes`.
pub fn pack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    match ending(path) {
        "lz4" => Ok(lz4::block::compress(bytes, Some(HIGHCOMPRESSION(12)), true)?),
        "zst" => Ok(zstd::bulk::compress(bytes, LEVEL)?),
        other => bail!("{}: nothing is packed as {other:?}", path.display()),
    }
}

/// What a file of that name expands to. As strict as the library: a file that it would not expand is an error here.
pub fn unpack(path: &Path, file: &[u8]) -> Result<Vec<u8>> {
    let name = || path.display().to_string();
    match ending(path) {
        "lz4" => {
            let bytes = lz4::block::decompress(file, None).with_context(name)?;
            let length = u32::try_from(bytes.len())?.to_le_bytes();
            ensure!(file.starts_with(&length), "{} is damaged: a wrong length", name());
            Ok(bytes)
        }
        "zst" => zstd::stream::decode_all(file).with_context(name),
        other => bail!("{}: nothing is packed as {other:?}", name()),
    }
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
        for name in ["a.cubin.lz4", "a.ptx.zst"] {
            let path = Path::new(name);
            let packed = pack(path, bytes).unwrap();
            assert_eq!(unpack(path, &packed).unwrap(), bytes);
            assert!(unpack(path, &packed[..packed.len() - 1]).is_err(), "{name}");
        }
        assert!(pack(Path::new("a.zip"), bytes).is_err());
    }
}

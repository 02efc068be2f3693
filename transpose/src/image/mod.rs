//! Images: kernels as they ship. PTX, which every chip's driver can compile, and machine code, which some need not.
//!
//! An image is data in the program. A device loads it when the first of its kernels is launched. PTX and machine code
//! are packed, and a program expands no more than it runs. What is packed is either an LZMA file, or the number of bytes that it expands
//! to (32 bits, little-endian) and an LZ4 block. The first is smaller by half, for the kernels of an image are alike and LZ4 does not
//! look far enough back; the second expands at fifty times the speed: 0.5 MB of machine code, which the first transpose of a program
//! waits for, in 0.1 ms instead of 6 ms. In a packed PTX the numbers of registers are told by distances ([`registers`]).

mod registers;

use lzma_rust2::LzmaReader;
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::Read;

/// No part of an image expands to more bytes than this.
const LARGEST: usize = 32 << 20;

/// Kernels that are loaded together.
pub struct Image {
    name: &'static str,
    ptx: Ptx,
    code: &'static [MachineCode],
}

/// The PTX of an image.
enum Ptx {
    Text(&'static str),
    Packed(&'static [u8]),
}

/// The machine code of an image for chips of one compute capability, major and minor, and for those of the same major and a
/// higher minor number.
pub struct MachineCode {
    /// The compute capability that it was assembled for.
    pub capability: (i32, i32),
    /// Whether each kernel waits by itself for the launches before its own (`griddepcontrol.wait`), so that those need not be
    /// done when it starts.
    pub waits: bool,
    /// Whether the kernels have the L2 cache keep what they load rather than what they store.
    pub evict_last: bool,
    /// The ELF file that the assembler wrote, packed.
    pub packed: &'static [u8],
}

impl Image {
    /// Kernels whose PTX is a text, without machine code: the driver compiles them.
    pub const fn new(name: &'static str, ptx: &'static str) -> Self {
        Image { name, ptx: Ptx::Text(ptx), code: &[] }
    }

    /// Kernels whose PTX is packed, with machine code for some chips.
    pub const fn packed(
        name: &'static str,
        ptx: &'static [u8],
        code: &'static [MachineCode],
    ) -> Self {
        Image { name, ptx: Ptx::Packed(ptx), code }
    }

    /// The name of the set of kernels.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The PTX; empty if it is damaged.
    pub fn ptx(&self) -> Cow<'static, str> {
        self.whole_ptx().unwrap_or_default()
    }

    /// The PTX; `None` if it is damaged.
    pub(crate) fn whole_ptx(&self) -> Option<Cow<'static, str>> {
        match self.ptx {
            Ptx::Text(text) => Some(Cow::Borrowed(text)),
            Ptx::Packed(packed) => {
                let text = registers::numbered(&expanded(packed)?, LARGEST)?;
                String::from_utf8(text).ok().map(Cow::Owned)
            }
        }
    }

    /// The machine code that runs on a chip: of the kind that evicts last what it loads if that is wanted and there is such code, else
    /// of the plain kind.
    pub fn code(
        &self,
        (major, minor): (i32, i32),
        evict_last: bool,
    ) -> Option<&'static MachineCode> {
        let fits = |code: &&MachineCode| code.capability.0 == major && code.capability.1 <= minor;
        let kind =
            |kind: bool| self.code.iter().filter(fits).find(move |code| code.evict_last == kind);
        kind(evict_last).or_else(|| kind(!evict_last))
    }

    /// An entry point of the image.
    pub(crate) const fn entry(&'static self, name: &'static str) -> EntryPoint {
        EntryPoint { image: self, name }
    }
}

impl MachineCode {
    /// The ELF file; `None` if it is damaged.
    pub fn expanded(&self) -> Option<Vec<u8>> {
        expanded(self.packed)
    }
}

/// By name: what is packed has hundreds of thousands of bytes.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("name", &self.name).field("code", &self.code).finish()
    }
}

/// By what it is for, and its length.
impl fmt::Debug for MachineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MachineCode { capability: (major, minor), waits, evict_last, packed } = self;
        write!(f, "sm_{major}{minor}, {} bytes packed", packed.len())?;
        write!(f, "{}", if *waits { ", waits" } else { "" })?;
        write!(f, "{}", if *evict_last { ", evicts last" } else { "" })
    }
}

/// An entry point: the image that it is part of, and its name there.
#[derive(Clone, Copy)]
pub(crate) struct EntryPoint {
    pub image: &'static Image,
    pub name: &'static str,
}

impl fmt::Debug for EntryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name, self.image.name)
    }
}

impl PartialEq for EntryPoint {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.image, other.image) && self.name == other.name
    }
}

impl Eq for EntryPoint {}

impl Hash for EntryPoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.image).hash(state);
        self.name.hash(state);
    }
}

/// What was packed: `None` if it is damaged.
fn expanded(packed: &[u8]) -> Option<Vec<u8>> {
    // An LZMA file begins with a byte of properties and a number of bytes to look back, of which 24 bits are 0: as the length of an LZ4 block that would be less than any part has.
    let start = u32::from_le_bytes(*packed.first_chunk()?);
    if start <= u8::MAX.into() {
        let mut bytes = Vec::new();
        let file = LzmaReader::new_mem_limit(packed, (LARGEST >> 9) as u32, None).ok()?;
        file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).ok()?;
        return Some(bytes).filter(|bytes| bytes.len() <= LARGEST);
    }
    let (bytes, block) = lz4_flex::block::uncompressed_size(packed).ok()?;
    if bytes > LARGEST {
        return None;
    }
    lz4_flex::block::decompress(block, bytes).ok().filter(|code| code.len() == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        lz4_flex::block::compress_prepend_size(text.as_bytes())
    }

    /// Cuts a part after every `step`-th byte, and damages each of these.
    fn damage(whole: &[u8], step: usize) {
        assert!(expanded(whole).is_some());
        for length in (0..whole.len()).step_by(step) {
            assert!(expanded(&whole[..length]).is_none(), "{length} bytes");
        }
        for at in (0..whole.len()).step_by(step).chain(0..16) {
            let mut damaged = whole.to_vec();
            damaged[at] ^= 0x55;
            // Whether it still expands does not matter: there is no checksum.
            let _ = expanded(&damaged);
        }
    }

    #[test]
    fn damaged_parts_do_not_panic() {
        damage(&packed(&"some kernel, ".repeat(1000)), 1);
        let shipped = crate::kernels::images().find(|image| image.name() == "classic");
        damage(shipped.unwrap().code((9, 0), false).unwrap().packed, 97);
        assert!(expanded(&[0xff; 64]).is_none(), "4 GiB");
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn what_is_packed_is_not_printed() {
        let facts = crate::Device::simulated().facts().clone();
        let layout = crate::Layout::contiguous(500, 500, 4).unwrap();
        let plan = crate::Plan::for_layouts(4, layout, layout, crate::Strategy::Auto, &facts);
        let printed = format!("{:?}", plan.unwrap());
        assert!(printed.contains("micro_b4 of fast") && printed.len() < 2000, "{}", printed.len());
    }

    #[test]
    fn machine_code_serves_its_generation() {
        const fn code(capability: (i32, i32), evict_last: bool) -> MachineCode {
            MachineCode { capability, waits: false, evict_last, packed: &[] }
        }
        const CODE: &[MachineCode] =
            &[code((8, 0), false), code((9, 0), false), code((9, 0), true)];
        let image = Image::packed("none", &[], CODE);
        let found = |capability, evict_last| {
            image.code(capability, evict_last).map(|code| (code.capability, code.evict_last))
        };
        assert_eq!(found((8, 9), false), Some(((8, 0), false)));
        assert_eq!(found((8, 9), true), Some(((8, 0), false)));
        assert_eq!(found((9, 0), true), Some(((9, 0), true)));
        assert_eq!(found((9, 0), false), Some(((9, 0), false)));
        assert_eq!(found((7, 5), false), None);
        assert_eq!(found((10, 0), false), None);
    }
}

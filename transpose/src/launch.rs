//! A launch, as plain data: what a plan asks a device to run.

/// One kernel over one grid. Every kernel's first two parameters are the addresses of the source
/// and the destination; the rest, given here, are 64-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The entry point's name in the PTX.
    pub kernel: &'static str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes from the source's first element to where this launch starts reading.
    pub src_offset: u64,
    /// Bytes from the destination's first element to where this launch starts writing.
    pub dst_offset: u64,
    /// What follows the two addresses.
    pub words: [u64; 4],
}

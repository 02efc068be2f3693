//! What a caller may choose of an exchange between devices. It changes the time and nothing else.

/// Bytes that a launch moves where pieces are split.
const STEP_BYTES: usize = 32 << 20;

/// How an exchange is cut into launches, and on how many streams they go. What comes of it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeOptions {
    pub(super) step_bytes: usize,
    pub(super) far_streams: usize,
    pub(super) overlaps: bool,
    pub(super) far_blocks: u32,
}

impl Default for ExchangeOptions {
    /// What is fastest on the machines measured.
    fn default() -> Self {
        ExchangeOptions { step_bytes: STEP_BYTES, far_streams: 2, overlaps: true, far_blocks: 1 }
    }
}

impl ExchangeOptions {
    /// Pieces are split into launches of about so many bytes: while the last blocks of one store to another device, those of the next, and
    /// of what stays on the device, have room to start.
    #[must_use]
    pub fn step_bytes(self, bytes: usize) -> Self {
        ExchangeOptions { step_bytes: bytes.max(1), ..self }
    }

    /// What goes to other devices is queued on one stream a device, or on two in turns, so that one launch starts while another ends.
    #[must_use]
    pub fn far_streams(self, streams: usize) -> Self {
        ExchangeOptions { far_streams: streams.clamp(1, 2), ..self }
    }

    /// Whether what stays on a device moves while the links are busy, or after.
    #[must_use]
    pub fn overlaps(self, overlaps: bool) -> Self {
        ExchangeOptions { overlaps, ..self }
    }

    /// How many blocks that store to another device a multiprocessor runs together, while others move what stays; 0 for as many as fit. More
    /// of them make the link no faster, and leave the others no room.
    #[must_use]
    pub fn far_blocks(self, blocks: u32) -> Self {
        ExchangeOptions { far_blocks: blocks, ..self }
    }
}

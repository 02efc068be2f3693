//! What a caller may choose of an exchange between devices. It changes the time and nothing else.

/// How an exchange is cut into launches, and on how many streams they go. What comes of it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeOptions {
    pub(super) step_bytes: usize,
    pub(super) far_streams: usize,
    pub(super) pairs: bool,
}

impl Default for ExchangeOptions {
    /// What is fastest on the machines measured.
    fn default() -> Self {
        ExchangeOptions { step_bytes: usize::MAX, far_streams: 1, pairs: true }
    }
}

impl ExchangeOptions {
    /// Pieces are split into launches of at most so many bytes; by default they are not.
    #[must_use]
    pub fn step_bytes(self, bytes: usize) -> Self {
        ExchangeOptions { step_bytes: bytes.max(1), ..self }
    }

    /// What goes to other devices is queued on one stream a device, or on two in turns, so that one launch starts while another ends.
    #[must_use]
    pub fn far_streams(self, streams: usize) -> Self {
        ExchangeOptions { far_streams: streams.clamp(1, 2), ..self }
    }

    /// Whether what stays on a device and what it sends first go together, in launches whose blocks move one and the other in turns: then
    /// what stays moves while stores to the link wait. Otherwise each goes by itself, and takes its own time.
    #[must_use]
    pub fn pairs(self, pairs: bool) -> Self {
        ExchangeOptions { pairs, ..self }
    }
}

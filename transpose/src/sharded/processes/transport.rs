//! What carries bytes between the devices of different processes.

use crate::{Device, Result};

/// Bytes in the memory of this process's device that go to another process, or come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The other process's rank.
    pub peer: usize,
    /// Where the bytes are, or go: an address of the device, aligned to 256 bytes.
    pub address: u64,
    /// How many there are, one at least. What is sent has as many as its receiver expects.
    pub bytes: usize,
}

/// Carries bytes from process to process. [`Sockets`](crate::Sockets) does for any device, `Nccl` (feature `nccl`) for GPUs; others, such
/// as a program's own MPI, are made by implementing this.
pub trait Transport: Send + Sync {
    /// Sends and receives parcels: in the order of `queue`, after all that was queued there, and before all that is queued there later. It may
    /// return before that is done. There is at most one parcel to and one from each process.
    ///
    /// An error is one for the whole world: all processes get one, in bounded time.
    ///
    /// # Safety
    /// - All parcels lie inside live memory of the queue's device, and none overlaps another that is received.
    /// - What else uses that memory is ordered before or after this on the queue.
    /// - Each other process makes the call that fits this one.
    ///
    /// # Errors
    /// A process that has gone or does not answer in time, and what the device reports.
    unsafe fn exchange(&self, queue: &Device, out: &[Parcel], into: &[Parcel]) -> Result<()>;

    /// Whether what was queued goes on: asked again and again by who waits for it.
    ///
    /// # Errors
    /// A process that has gone, or whatever else lets the exchange not end.
    fn check(&self) -> Result<()>;

    /// Ends what was queued, so that no queue waits for another process any more. The transport carries nothing after this.
    fn abort(&self);
}

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
///
/// # Safety
/// Exchanges are safe to run: kernels store to the addresses that a transport [reaches](Self::reach), and the transport itself moves bytes of the device's memory. So whoever implements one vouches that
/// - `reach` gives addresses at which this process's device may store all bytes that the processes offered, by rank, until the next call;
/// - `exchange` reads no memory of the device but the parcels that it sends, writes none but those that it receives, and does either in the order of its queue;
/// - once `abort` has returned and the queues have been waited for, nothing of that memory is used any more;
/// - all of that holds after a panic of one of its methods, too.
pub unsafe trait Transport: Send + Sync {
    /// How many exchanges may be on their way at a time, each in a lane of its own; as many in every process.
    fn lanes(&self) -> usize {
        1
    }

    /// What the others need to store to memory of this process's device: bytes that they get as they are. None if they cannot.
    fn offer(&self, address: u64, bytes: usize) -> Vec<u8> {
        let _ = (address, bytes);
        Vec::new()
    }

    /// The addresses, by rank, at which this process's device stores to what the processes have [offered](Self::offer), its own
    /// memory too; `None` in all processes if one of them does not reach all. All processes call this with the same offers, of which none is
    /// empty. The addresses hold as long as what was offered is allocated, and only until the next call.
    ///
    /// # Errors
    /// A process that has gone, and what the device reports.
    fn reach(&self, offers: &[Vec<u8>]) -> Result<Option<Vec<u64>>> {
        let _ = offers;
        Ok(None)
    }

    /// Sends and receives parcels: in the order of `queue`, after all that was queued there, and before all that is queued there later. It may
    /// return before that is done. Parcels from one process to another are in the same order in both. Calls of one lane, which is less than
    /// [`lanes`](Self::lanes), are in the same order in all processes.
    ///
    /// An error is one for the whole world: all processes get one, in bounded time.
    ///
    /// # Safety
    /// - All parcels lie inside live memory of the queue's device, and none overlaps another that is received.
    /// - What else uses that memory is ordered before or after this on the queue.
    /// - Each other process makes the call that fits this one, in the same lane.
    ///
    /// # Errors
    /// A process that has gone or does not answer in time, and what the device reports.
    unsafe fn exchange(
        &self,
        lane: usize,
        queue: &Device,
        out: &[Parcel],
        into: &[Parcel],
    ) -> Result<()>;

    /// Whether what was queued goes on: asked again and again by who waits for it.
    ///
    /// # Errors
    /// A process that has gone, or whatever else lets the exchange not end.
    fn check(&self) -> Result<()>;

    /// Ends what was queued, so that no queue waits for another process any more. The transport carries nothing after this.
    fn abort(&self);
}

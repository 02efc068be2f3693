//! What goes to a device whose memory is not reached: packed here, carried over by the driver, unpacked there.
//!
//! Both buffers are of a stream each, had from its pool and given back in its order, so that a stream uses the same memory step after step.

use crate::Result;
use crate::device::Device;

/// The way from a stream of one device to a stream of another.
pub(super) struct Ferry<'a> {
    pub here: &'a Device,
    pub there: &'a Device,
    /// Bytes to carry, at least one.
    pub bytes: usize,
}

/// Queues packing, which writes to an address on this side, carrying, and unpacking, which reads from an address on the other.
///
/// # Safety
/// `pack` queues on `here` what writes the bytes at its address, and `unpack` on `there` what reads them at its.
pub(super) unsafe fn ferry(
    ferry: &Ferry<'_>,
    pack: impl FnOnce(u64) -> Result<()>,
    unpack: impl FnOnce(u64) -> Result<()>,
) -> Result<()> {
    let Ferry { here, there, bytes } = *ferry;
    let packed = here.allocate(bytes)?;
    pack(packed.address())?;
    let arrived = there.allocate(bytes)?;
    // The memory is had in the other stream's order.
    here.wait_for(there)?;
    // SAFETY: both buffers have as many bytes; this stream has packed the one, and waited for the other, which its own stream waits for below.
    let carried = unsafe { here.copy_to_peer(there, arrived.address(), packed.address(), bytes) };
    // Also if nothing could be queued: the buffer is given back in the other stream's order.
    here.or_wait(there.wait_for(here))?;
    carried?;
    unpack(arrived.address())
}

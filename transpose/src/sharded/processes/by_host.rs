//! Parcels by way of the host's memory, for transports that carry from there.

use super::transport::Parcel;
use crate::layout::Layout;
use crate::{Device, Result};

/// The bytes of a parcel, and the process that they go to or come from.
pub(super) type Carried = (usize, Vec<u8>);

/// The bytes of parcels, once all that was queued before is done.
///
/// # Safety
/// The parcels lie inside live memory of the queue's device, whose other uses are ordered before or after this on the queue.
pub(super) unsafe fn to_host(queue: &Device, parcels: &[Parcel]) -> Result<Vec<Carried>> {
    let one = |parcel: &Parcel| {
        let mut bytes = vec![0; parcel.bytes];
        // SAFETY: the caller's obligations; the call waits for the bytes.
        unsafe { queue.download(parcel.address, &layout(parcel)?, &mut bytes)? };
        Ok((parcel.peer, bytes))
    };
    parcels.iter().map(one).collect()
}

/// Room for the bytes of parcels.
pub(super) fn room_for(parcels: &[Parcel]) -> Vec<Carried> {
    parcels.iter().map(|parcel| (parcel.peer, vec![0; parcel.bytes])).collect()
}

/// Puts bytes where their parcels say.
///
/// # Safety
/// Those of [`to_host`], and no two parcels overlap.
pub(super) unsafe fn to_device(
    queue: &Device,
    parcels: &[Parcel],
    received: &[Carried],
) -> Result<()> {
    parcels.iter().zip(received).try_for_each(|(parcel, (_, bytes))| {
        // SAFETY: the caller's obligations.
        unsafe { queue.upload(parcel.address, &layout(parcel)?, bytes) }
    })
}

fn layout(parcel: &Parcel) -> Result<Layout> {
    Layout::contiguous(1, parcel.bytes, 1)
}

//! Counts of kernels in place that are the same everywhere.

use transpose::{Device, Result};

/// A handle to the same device by which counts of kernels in place can be compared between devices.
///
/// Transposing in place, warps share out work as they go, so that what each of them does depends
/// on which comes first, and how many there are is planned for the chip. With matrices of this
/// handle all that work goes to one block, warp or thread, whichever would carry a piece of it, and
/// is planned as if there were one multiprocessor: slow, and the same everywhere.
///
/// ```
/// use transpose::{Device, DeviceMatrix};
/// # fn main() -> transpose::Result<()> {
/// let device = profile::in_turn(&Device::simulated())?;
/// let mut matrix = DeviceMatrix::from_host(&device, 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
/// matrix.transpose_in_place()?;
/// assert_eq!(matrix.to_host()?, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// None in practice: every device can be planned for like that.
pub fn in_turn(device: &Device) -> Result<Device> {
    let mut facts = device.facts().clone();
    (facts.multiprocessors, facts.side_by_side, facts.in_turn) = (1, false, true);
    device.with_facts(facts)
}

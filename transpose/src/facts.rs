//! What a device is like, as far as planning goes by it.

use crate::{Error, Result};

/// The facts of a device that plans are made by.
///
/// A device knows its own ([`Device::facts`](crate::Device::facts)); a handle that plans as if they were others is made by changing
/// a copy ([`Device::with_facts`](crate::Device::with_facts)), with no more shared memory than the device has. Facts change which kernels run and how they are launched, never
/// what comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The name that a person knows the device by, such as `NVIDIA H200`.
    pub name: String,
    /// The compute capability, major and minor: `(9, 0)` for Hopper. The simulator's is that of the chip that it stands for.
    pub compute_capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Shared memory that one block may have, in bytes.
    pub block_shared: usize,
    /// Shared memory that the blocks on one multiprocessor may have together, in bytes.
    pub multiprocessor_shared: usize,
    /// Whether blocks run side by side, so that one may wait for another that started later.
    pub side_by_side: bool,
    /// Whether work in place that warps would share out as they go, so that what each of them does depends on which comes first,
    /// all goes to one block, warp or thread, whichever would carry a piece of it. No device is like that by itself; counts of
    /// such work are the same everywhere if it is planned so.
    pub in_turn: bool,
}

/// The blocks that a grid may have along x, y and z: the same for every GPU since 2012.
pub(crate) const GRID_LIMIT: [usize; 3] = [i32::MAX as usize, 65535, 65535];

/// Shared memory that every GPU gives a block without being asked for more, in bytes.
const LEAST_SHARED: usize = 48 << 10;

/// More multiprocessors than any GPU has.
const MOST_MULTIPROCESSORS: usize = 1 << 16;

impl Facts {
    /// Those of a Hopper GPU, but a small one, on which nobody may wait for a block that has not started.
    #[cfg(feature = "simulator")]
    pub(crate) fn simulated() -> Self {
        Facts {
            name: "the simulator".to_owned(),
            compute_capability: (9, 0),
            multiprocessors: 4,
            block_shared: 227 << 10,
            multiprocessor_shared: 228 << 10,
            side_by_side: false,
            in_turn: false,
        }
    }

    /// Those that tests plan by of an H200.
    #[cfg(all(test, feature = "simulator"))]
    pub(crate) fn h200() -> Self {
        Facts { multiprocessors: 132, ..Facts::simulated() }
    }

    /// Refuses what no GPU is like, and more than the device has that plans by these facts would run on.
    pub(crate) fn check(&self, device: &Facts) -> Result<()> {
        let refuse = |reason| Err(Error::Facts { reason });
        if !(1..=MOST_MULTIPROCESSORS).contains(&self.multiprocessors) {
            return refuse("there are 1 to 65536 multiprocessors");
        }
        if !(LEAST_SHARED..=self.multiprocessor_shared).contains(&self.block_shared) {
            return refuse(
                "a block has 48 KiB of shared memory at least, its multiprocessor no less",
            );
        }
        if self.block_shared > device.block_shared
            || self.multiprocessor_shared > device.multiprocessor_shared
        {
            return refuse("this device has less shared memory");
        }
        if self.side_by_side && !device.side_by_side {
            return refuse("blocks do not run side by side on this device");
        }
        Ok(())
    }
}

//! What the kernels of transposes do to memory, counted on the simulator: sectors moved, banks in conflict.
//!
//! ```
//! use transpose::{Device, DeviceMatrix, Strategy};
//!
//! # fn main() -> transpose::Result<()> {
//! let device = Device::simulated();
//! let matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64)?;
//! let counters = profile::count(&device, || matrix.transposed_with(Strategy::Padded).map(drop))?;
//! let counters = counters.expect("a simulated device can be looked into");
//! assert_eq!(counters.global_store.efficiency(), Some(1.0));
//! assert_eq!(counters.shared_load.conflicts, 0);
//! # Ok(())
//! # }
//! ```
//!
//! What the calling thread launches on the device is seen, and nothing else: two threads that count at once each get their own
//! launches. Work that hands its launches to other threads is not seen. A GPU cannot be looked into, and is asked by a profiler.

mod in_turn;
mod inspect;

pub use in_turn::in_turn;
pub use inspect::{Inspection, LaunchReport, count, inspect};

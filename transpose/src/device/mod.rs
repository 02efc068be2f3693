//! The device: a GPU, or the simulator that runs the same kernels on the CPU.
//!
//! Each [`Device`] is a queue. Memory belongs to one queue: every operation on it, frees included, goes through that
//! queue in the order of the calls, or through another one that waits for it before and that it waits for after
//! (`order.rs`). Nothing that was queued refers to host memory, but for [`PinnedBuffer`](crate::PinnedBuffer)s, which
//! go when the work is done. That is why calls may return early and still be safe whatever is dropped or leaked in between.
//!
//! | file | what it is about |
//! |---|---|
//! | `handle` | what a program asks of a device |
//! | `foreign` | contexts and streams of other code |
//! | `order`, `mark` | the order between queues |
//! | `buffer`, `deleter`, `host_memory` | memory of the device, and of the host for what is queued |
//! | `work` | what the library queues |
//! | `tables` | small tables that stay on the device from call to call |
//! | `backend` | what a GPU (`cuda`) and the simulator (`simulated`) each answer |

// The first module's methods are the first of the documentation.
mod handle;

mod backend;
mod buffer;
mod cuda;
mod deleter;
mod foreign;
mod host_memory;
mod mark;
mod order;
#[cfg(feature = "simulator")]
mod simulated;
mod tables;
mod work;

pub(crate) use backend::{Rows, Step, Urgency};
pub(crate) use buffer::Buffer;
pub(crate) use cuda::count as cuda_count;
pub use handle::Device;
pub(crate) use host_memory::{HostMemory, Registered};
pub(crate) use mark::Mark;
pub(crate) use order::{across, require_one_memory};

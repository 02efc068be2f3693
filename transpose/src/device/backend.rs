//! What a device is asked to do, whether it is a GPU or the simulator.

use super::Mark;
use super::host_memory::{HostMemory, Registered, Retired};
use crate::launch::Launch;
use crate::layout::Layout;
use crate::{Facts, MemoryInfo, Result};
use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// What a device is asked to do. Addresses are the device's own.
pub(crate) trait Backend: Send + Sync {
    /// What the device is like.
    fn facts(&self) -> &Facts;

    /// Whether kernels run on a GPU, so that their time means something.
    fn is_gpu(&self) -> bool;

    /// How many blocks of a kernel can run side by side: `None` where none waits for another that
    /// started later.
    fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>>;

    /// Memory of `bytes > 0` bytes, aligned to 256.
    fn allocate(&self, bytes: u64) -> Result<u64>;

    /// Gives memory back once all that was queued before is done.
    ///
    /// # Safety
    /// `address` came from `allocate`, is given back once, and is not used by later calls.
    unsafe fn free(&self, address: u64);

    /// Queues zeroing of `bytes` bytes.
    ///
    /// # Safety
    /// The range lies inside one live allocation.
    unsafe fn fill_zero(&self, address: u64, bytes: u64) -> Result<()>;

    /// Queues a copy between ranges that do not overlap.
    ///
    /// # Safety
    /// Both ranges lie inside live allocations.
    unsafe fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()>;

    /// What [`reach`](Self::reach) and [`copy_to_peer`](Self::copy_to_peer) look at a device as.
    fn as_any(&self) -> &dyn Any;

    /// Has this device's kernels reach all memory that `peer` allocates, from now on and for good; `false` if they cannot.
    fn reach(&self, peer: &dyn Backend) -> Result<bool>;

    /// Queues a copy to memory of another device of the same kind, reached or not.
    ///
    /// # Safety
    /// `src` lies inside a live allocation of this device, `dst` inside one of the peer's; what else is queued that uses either is in
    /// order with this queue.
    unsafe fn copy_to_peer(&self, peer: &dyn Backend, dst: u64, src: u64, bytes: u64)
    -> Result<()>;

    /// Copies rows of `row_bytes` from the host to `rows`; `host` has been read on return.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation, and on the host follow each other.
    unsafe fn upload(&self, rows: Rows, host: &[u8]) -> Result<()>;

    /// Copies rows to the host after all that was queued before.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation, and on the host follow each other.
    unsafe fn download(&self, rows: Rows, host: &mut [u8]) -> Result<()>;

    /// Queues a kernel.
    ///
    /// # Safety
    /// Everything that the launch reads or writes lies inside live allocations.
    unsafe fn launch(&self, launch: &Launch, addresses: [u64; 2]) -> Result<()>;

    /// Queues a copy of rows of `row_bytes` from the host to `rows`.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation. `host` has as many rows, which live until the work is done and which nobody
    /// writes until then.
    unsafe fn upload_later(&self, rows: Rows, host: *const u8) -> Result<()>;

    /// Queues a copy of rows to the host.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation. `host` has as many rows, which live until the work is done and which nobody else
    /// uses until then.
    unsafe fn download_later(&self, rows: Rows, host: *mut u8) -> Result<()>;

    /// `bytes > 0` zero bytes of the host's memory for copies that are queued.
    fn allocate_host(&self, bytes: usize, align: usize) -> Result<HostMemory>;

    /// Locks `bytes > 0` bytes of the program's memory.
    ///
    /// # Safety
    /// The memory stays the program's until what is returned is dropped, and no work uses it then.
    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<Registered>;

    /// Host memory that is given back when the work that uses it is done. All queues of a device have one.
    fn retired(&self) -> &Retired;

    /// Work that can be queued as a whole, if this device can do that.
    ///
    /// # Safety
    /// As [`launch`](Self::launch) and [`copy`](Self::copy), whenever it is [replayed](Self::replay).
    unsafe fn graph(&self, steps: &[Step]) -> Result<Option<cuda_driver::Graph>>;

    /// Queues work as a whole.
    ///
    /// # Safety
    /// The graph is of this device, and its steps are ones that could be queued one by one.
    unsafe fn replay(&self, graph: &cuda_driver::Graph) -> Result<()>;

    /// What all queues have in common that share their memory, and no others.
    fn memory_id(&self) -> usize;

    /// One more queue of the same device.
    fn new_queue(&self, urgency: Urgency) -> Result<Arc<dyn Backend>>;

    /// The stream as a queue of the same device, if it is a GPU.
    ///
    /// # Safety
    /// The stream is one of the device's context, and lives as long as the queue.
    unsafe fn borrowed_queue(&self, stream: *mut c_void) -> Option<Arc<dyn Backend>>;

    /// Has all that is queued from now on come after what is queued on a stream that is not this library's.
    ///
    /// # Safety
    /// The stream is one of the device's context, or a default one of it, and lives during the call.
    unsafe fn wait_for_raw(&self, stream: *mut c_void) -> Result<()>;

    /// Has what is queued later on a stream that is not this library's come after all that was queued.
    ///
    /// # Safety
    /// Those of [`wait_for_raw`](Self::wait_for_raw).
    unsafe fn raw_waits(&self, stream: *mut c_void) -> Result<()>;

    /// A mark that is nowhere yet.
    fn mark(&self, timed: bool) -> Result<Mark>;

    /// Puts a mark behind all that was queued.
    fn record(&self, mark: &Mark) -> Result<()>;

    /// Has all that is queued from now on wait for a mark, of whatever device.
    fn wait(&self, mark: &Mark) -> Result<()>;

    /// Waits for all that was queued.
    fn synchronize(&self) -> Result<()>;

    /// How much memory there is.
    fn memory_info(&self) -> Result<MemoryInfo>;

    /// The number that the driver counts this GPU by, if it is one.
    fn cuda_ordinal(&self) -> Option<u32>;

    /// The context that memory and kernels are in, if this is a GPU.
    fn cuda_context(&self) -> Option<&cuda_driver::Context>;

    /// The stream that work is queued on, if this is a GPU.
    fn cuda_stream(&self) -> Option<*mut c_void>;

    /// The device's own time for what `work` queues; `None` where that means nothing.
    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>>;
}

/// Whose kernels start first where several wait for a place to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Before all others.
    First,
    /// As those of other programs' streams.
    Usual,
}

/// Equally long rows in device memory, and how far they are apart on the host.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub address: u64,
    /// Bytes from one row's start to the next's.
    pub pitch: usize,
    pub row_bytes: usize,
    pub count: usize,
    /// Bytes from one row's start to the next's on the host: `row_bytes` where they follow each other.
    pub host_pitch: usize,
}

/// A piece of work of a plan, at the addresses that it is for.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A kernel.
    Launch(Launch, [u64; 2]),
    /// A copy of so many bytes.
    Copy { dst: u64, src: u64, bytes: usize },
}

impl Rows {
    /// The rows of a matrix; rows without a gap become one long row.
    pub fn of<T>(address: u64, layout: &Layout) -> Self {
        let size = size_of::<T>();
        if layout.is_contiguous() {
            let bytes = layout.len() * size;
            return Rows { address, pitch: bytes, row_bytes: bytes, count: 1, host_pitch: bytes };
        }
        let (pitch, row_bytes) = (layout.ld * size, layout.cols * size);
        Rows { address, pitch, row_bytes, count: layout.rows, host_pitch: row_bytes }
    }
}

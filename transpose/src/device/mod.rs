//! The device: a GPU, or the simulator that runs the same kernels on the CPU.
//!
//! Each [`Device`] is a queue. Memory belongs to one queue: every operation on it, frees included, goes through that
//! queue in the order of the calls, or through another one that waits for it before and that it waits for after
//! (`order.rs`). Nothing that was queued refers to host memory, but for [`PinnedBuffer`](crate::PinnedBuffer)s, which
//! go when the work is done. That is why calls may return early and still be safe whatever is dropped or leaked in between.

mod cuda;
mod deleter;
mod host_memory;
mod mark;
mod order;
#[cfg(feature = "simulator")]
mod simulated;

pub(crate) use host_memory::{HostMemory, Registered};
pub(crate) use mark::Mark;
pub(crate) use order::{across, require_one_memory};

use crate::launch::Launch;
use crate::layout::Layout;
#[cfg(feature = "simulator")]
use crate::simulator::{self, DeviceId, Observer};
use crate::{Facts, MemoryInfo, Result};
use bytemuck::Pod;
use deleter::Deleter;
use host_memory::Retired;
#[cfg(feature = "simulator")]
use simt::Checks;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
#[cfg(feature = "simulator")]
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A place that holds matrices and transposes them. Clones are handles to the same device.
#[derive(Clone)]
pub struct Device {
    backend: Arc<dyn Backend>,
    /// What plans are made by.
    facts: Arc<Facts>,
}

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
    fn cuda_context(&self) -> Option<*mut c_void>;

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
    fn of<T>(address: u64, layout: &Layout) -> Self {
        let size = size_of::<T>();
        if layout.is_contiguous() {
            let bytes = layout.len() * size;
            return Rows { address, pitch: bytes, row_bytes: bytes, count: 1, host_pitch: bytes };
        }
        let (pitch, row_bytes) = (layout.ld * size, layout.cols * size);
        Rows { address, pitch, row_bytes, count: layout.rows, host_pitch: row_bytes }
    }
}

pub(crate) use cuda::count as cuda_count;

impl Device {
    /// The GPU of that ordinal, counted from zero.
    ///
    /// # Errors
    /// [`Error::NoDriver`](crate::Error::NoDriver), [`Error::NoDevice`](crate::Error::NoDevice),
    /// and what the driver answers.
    pub fn cuda(ordinal: u32) -> Result<Self> {
        Ok(Self::with(cuda::Cuda::new(ordinal)?))
    }

    /// The GPU of a context that others have made, with one of its streams as the queue.
    ///
    /// The stream may be a default one: null and 1 (`CU_STREAM_LEGACY`) are the legacy one, 2 (`CU_STREAM_PER_THREAD`) is that of
    /// the calling thread. That is another stream in each thread, which other threads have no name for: each call waits for what it
    /// queues there. On a default stream no kernel starts before the launch before it has ended.
    ///
    /// The device has a memory pool and kernels of its own in that context. For more streams of it use
    /// [`on_raw_stream`](Self::on_raw_stream) or [`new_stream`](Self::new_stream).
    ///
    /// # Safety
    /// `context` is a `CUcontext` and `stream` a `CUstream` of it, and until the last handle to the device, and all that was made on it
    /// (matrices, plans, events, buffers), are gone:
    /// - Both live.
    /// - What others queue on the stream leaves this library's memory alone, and a kernel that is queued to start early
    ///   (programmatic stream serialization) waits for what is before it.
    /// - While the stream is captured into a graph, nothing is called but `run` of a [`Plan`](crate::Plan)
    ///   that ran on the device before, on memory of this very stream; that memory lives, and
    ///   nobody else uses it, whenever the graph runs.
    ///
    /// # Errors
    /// [`Error::NoDriver`](crate::Error::NoDriver), and what the driver answers.
    pub unsafe fn from_raw_parts(context: *mut c_void, stream: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's obligations.
        Ok(Self::with(unsafe { cuda::Cuda::borrowed(context, stream, None)? }))
    }

    /// Like [`from_raw_parts`](Self::from_raw_parts), for a context and a stream that `keep` keeps alive.
    ///
    /// # Safety
    /// Those of [`from_raw_parts`](Self::from_raw_parts), but that both live as long as `keep`.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) unsafe fn from_raw_parts_kept(
        context: *mut c_void,
        stream: *mut c_void,
        keep: Arc<dyn std::any::Any + Send + Sync>,
    ) -> Result<Self> {
        // SAFETY: the caller's obligations.
        Ok(Self::with(unsafe { cuda::Cuda::borrowed(context, stream, Some(keep))? }))
    }

    /// A handle to the same GPU, its memory and its kernels, with a stream that others have made as its queue. `None` on the
    /// simulator. As with [`from_raw_parts`](Self::from_raw_parts), it may be a default stream.
    ///
    /// # Safety
    /// Those of [`from_raw_parts`](Self::from_raw_parts), for a stream of this device's [context](Self::cuda_context).
    pub unsafe fn on_raw_stream(&self, stream: *mut c_void) -> Option<Self> {
        // SAFETY: the caller's obligations.
        let backend = unsafe { self.backend.borrowed_queue(stream) }?;
        Some(Device { backend, facts: self.facts.clone() })
    }

    /// One more stream of the same device: a handle whose work is queued beside this one's, and may run at the same time.
    ///
    /// Matrices, tensors and plans in place belong to the handle that they are made on. A move between two streams of one device runs on the destination's,
    /// after what is queued on the source's so far; what is queued on the source's later comes after the move.
    /// [`DeviceMatrix::move_to_stream`](crate::DeviceMatrix::move_to_stream) hands memory over with an order one way only, so that
    /// the stream it leaves goes on at once.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let (device, _) = Device::any();
    /// let other = device.new_stream()?;
    /// let a = DeviceMatrix::from_host(&device, 1, 2, &[1u8, 2])?;
    /// let mut b = DeviceMatrix::zeroed(&other, 2, 1)?;
    /// a.transpose_into(&mut b)?; // on `other`
    /// assert_eq!(b.to_host()?, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new_stream(&self) -> Result<Self> {
        self.new_stream_of(Urgency::Usual)
    }

    /// Like [`new_stream`](Self::new_stream), for kernels that are more urgent than others, or are not.
    pub(crate) fn new_stream_of(&self, urgency: Urgency) -> Result<Self> {
        Ok(Device { backend: self.backend.new_queue(urgency)?, facts: self.facts.clone() })
    }

    fn with(backend: impl Backend + 'static) -> Self {
        Device { facts: Arc::new(backend.facts().clone()), backend: Arc::new(backend) }
    }

    /// A device that executes the same kernels on the CPU: exact, and slow.
    #[cfg(feature = "simulator")]
    pub fn simulated() -> Self {
        Self::simulated_with(Checks::NONE)
    }

    /// Like [`simulated`](Self::simulated), with checks of everything that kernels do: whatever
    /// a check finds is an [`Error::KernelDefects`](crate::Error::KernelDefects) of the launch.
    ///
    /// ```
    /// use transpose::simt::Checks;
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated_with(Checks::ALL_UNTRACKED);
    /// DeviceMatrix::<f32>::zeroed(&device, 70, 50)?.transposed()?; // no races, no overlaps
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "simulator")]
    pub fn simulated_with(checks: Checks) -> Self {
        Self::with(simulated::Simulated::new(checks, None))
    }

    /// Like [`simulated_with`](Self::simulated_with), with memory as weak as the memory model of the PTX ISA lets it be: loads may be
    /// old and late and stores out of order, by chance that starts from `seed` and differs from launch to launch. Blocks run side
    /// by side, so kernels whose blocks wait for each other are planned as for a GPU; races are found between blocks too, and an
    /// order that flags and counters make is known. Slower than the others by ten to a hundred times. See
    /// [`simt::Options::weak_memory`].
    #[cfg(feature = "simulator")]
    pub fn simulated_with_weak_memory(checks: Checks, seed: u64) -> Self {
        Self::with(simulated::Simulated::new(checks, Some(seed)))
    }

    /// As many simulated devices as asked for, each with memory of its own that the kernels of all of them reach, as those of GPUs
    /// that are linked do: for a [`DeviceGroup`](crate::DeviceGroup). Two devices made by [`simulated`](Self::simulated) do not reach each
    /// other's memory.
    #[cfg(feature = "simulator")]
    pub fn simulated_peers(count: usize) -> Vec<Self> {
        Self::simulated_peers_with(count, Checks::NONE)
    }

    /// Like [`simulated_peers`](Self::simulated_peers), with checks as [`simulated_with`](Self::simulated_with) has them.
    #[cfg(feature = "simulator")]
    pub fn simulated_peers_with(count: usize, checks: Checks) -> Vec<Self> {
        simulated::Simulated::peers(count, checks).into_iter().map(Self::with).collect()
    }

    /// What plans on this handle are made by: what the device is like, unless the handle was made by
    /// [`with_facts`](Self::with_facts).
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// A handle to the same device whose matrices are transposed as if it were like that.
    ///
    /// ```
    /// use transpose::Device;
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let mut facts = device.facts().clone();
    /// facts.multiprocessors = 132;
    /// let like_an_h200 = device.with_facts(facts)?;
    /// # assert_eq!(like_an_h200.facts().multiprocessors, 132);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Facts`](crate::Error::Facts) for what no GPU is like, and for blocks that run side by side if this device's do not.
    pub fn with_facts(&self, facts: Facts) -> Result<Self> {
        facts.check(self.backend.facts())?;
        Ok(Device { facts: Arc::new(facts), ..self.clone() })
    }

    /// The first GPU; where there is none, the simulator and the reason.
    #[cfg(feature = "simulator")]
    pub fn any() -> (Self, Option<crate::Error>) {
        match Self::cuda(0) {
            Ok(device) => (device, None),
            Err(reason) => (Self::simulated(), Some(reason)),
        }
    }

    /// The name that a person knows the device by, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.backend.facts().name
    }

    /// Whether this is a GPU and not the simulator.
    pub fn is_gpu(&self) -> bool {
        self.backend.is_gpu()
    }

    /// Waits until all that was queued on this handle's stream is done; other [streams](Self::new_stream) of the device are not
    /// waited for.
    ///
    /// # Errors
    /// What the device reports, failures of earlier queued work included.
    pub fn synchronize(&self) -> Result<()> {
        self.backend.synchronize()
    }

    /// Runs `work` and returns the time that the device spent on what it queued, between two
    /// events on the device. `None` on the simulator, whose time tells nothing about a GPU. While `work` runs, a GPU's
    /// context is current on the calling thread.
    ///
    /// # Errors
    /// What `work` returns or the device reports.
    pub fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<Option<Duration>> {
        self.backend.time(&mut work)
    }

    pub(crate) fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>> {
        self.backend.side_by_side(launch)
    }

    /// Runs `work`, and tells `observer` what the calling thread launches on this device meanwhile, if the device is simulated. A GPU
    /// cannot be looked into: `work` runs and the observer hears nothing.
    ///
    /// Launches by other threads are not observed, `work`'s own included, nor are those on other devices. Within an observed
    /// piece of work another may be observed: its launches are told to the inner observer alone.
    ///
    /// ```
    /// use std::{cell::RefCell, rc::Rc};
    /// use transpose::simulator::{Launched, Observer};
    /// use transpose::{Device, DeviceMatrix};
    ///
    /// #[derive(Default)]
    /// struct Names(RefCell<Vec<&'static str>>);
    ///
    /// impl Observer for Names {
    ///     fn launched(&self, launch: Launched) {
    ///         self.0.borrow_mut().push(launch.kernel);
    ///     }
    /// }
    ///
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let matrix = DeviceMatrix::<f32>::zeroed(&device, 640, 640)?;
    /// let names = Rc::new(Names::default());
    /// device.observe(names.clone(), || matrix.transposed())?;
    /// assert_eq!(names.0.take(), ["micro_b4"]);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "simulator")]
    pub fn observe<R>(&self, observer: Rc<dyn Observer>, work: impl FnOnce() -> R) -> R {
        simulator::observe(self.id(), observer, work)
    }

    #[cfg(feature = "simulator")]
    fn id(&self) -> DeviceId {
        DeviceId(self.backend.memory_id())
    }

    /// The number of this GPU, as [`cuda`](Self::cuda) takes it. `None` on the simulator.
    pub fn cuda_ordinal(&self) -> Option<u32> {
        self.backend.cuda_ordinal()
    }

    /// The CUDA stream that this device's work is queued on, as a `CUstream`, for code that queues work
    /// of its own beside it. `None` on the simulator.
    ///
    /// Work queued on the stream by others is in order with this library's; what it does to this
    /// library's matrices is for the code that queues it to answer for. A kernel that is queued to start early
    /// (programmatic stream serialization) has to wait for what is before it, as those of this library do, even
    /// if it needs nothing of that: what comes after waits for it alone.
    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        self.backend.cuda_stream()
    }

    /// The context that this device's memory and kernels are in, as a `CUcontext`: the GPU's primary one, retained as long as this
    /// device lives, or the one that the device was [made on](Self::from_raw_parts). `None` on the simulator.
    ///
    /// No call of this library leaves it current on the calling thread.
    pub fn cuda_context(&self) -> Option<*mut c_void> {
        self.backend.cuda_context()
    }

    pub(crate) fn memory_info(&self) -> Result<MemoryInfo> {
        self.backend.memory_info()
    }

    /// Whether both have one queue.
    pub(crate) fn is_same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.backend, &other.backend)
    }

    /// What no other queue has at the same time.
    pub(crate) fn queue_id(&self) -> usize {
        Arc::as_ptr(&self.backend).addr()
    }

    pub(crate) fn allocate_host(&self, bytes: usize, align: usize) -> Result<HostMemory> {
        self.backend.retired().sweep();
        self.backend.allocate_host(bytes, align)
    }

    /// Locks `bytes > 0` bytes of the program's memory, so that copies use them where they are.
    ///
    /// # Safety
    /// The memory stays the program's until what is returned is dropped, and no work uses it then.
    pub(crate) unsafe fn register_host(
        &self,
        start: NonNull<u8>,
        bytes: usize,
    ) -> Result<Registered> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.register_host(start, bytes) }
    }

    /// Gives host memory back once the device has come to the marks.
    pub(crate) fn retire(&self, memory: HostMemory, marks: Vec<Arc<Mark>>) {
        self.backend.retired().add(memory, marks);
    }

    /// A mark of this device that is nowhere yet.
    pub(crate) fn mark(&self, timed: bool) -> Result<Mark> {
        self.backend.mark(timed)
    }

    /// Puts a mark behind all that was queued.
    pub(crate) fn put(&self, mark: &Mark) -> Result<()> {
        self.backend.record(mark)
    }

    /// Has all that is queued from now on wait for a mark.
    pub(crate) fn wait_for_mark(&self, mark: &Mark) -> Result<()> {
        self.backend.wait(mark)
    }

    /// Work that can be queued as a whole, if this device can do that.
    ///
    /// # Safety
    /// Whenever it is [replayed](Self::replay), all that the steps access lies inside live buffers.
    pub(crate) unsafe fn graph(&self, steps: &[Step]) -> Result<Option<cuda_driver::Graph>> {
        // SAFETY: the caller's obligation.
        unsafe { self.backend.graph(steps) }
    }

    /// Queues work as a whole.
    ///
    /// # Safety
    /// The graph is one of a queue of this device, and all that its steps access lies inside live buffers.
    pub(crate) unsafe fn replay(&self, graph: &cuda_driver::Graph) -> Result<()> {
        // SAFETY: the caller's obligation.
        unsafe { self.backend.replay(graph) }
    }

    /// Queues a piece of work.
    ///
    /// # Safety
    /// All that it accesses lies inside live buffers.
    pub(crate) unsafe fn queue(&self, step: &Step) -> Result<()> {
        match step {
            // SAFETY: the caller's obligation.
            Step::Launch(launch, addresses) => unsafe { self.launch(launch, *addresses) },
            // SAFETY: the caller's obligation.
            Step::Copy { dst, src, bytes } => unsafe { self.copy(*src, *dst, *bytes) },
        }
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<Buffer> {
        let bytes = bytes as u64;
        let address = if bytes == 0 { 0 } else { self.backend.allocate(bytes)? };
        Ok(Buffer { device: self.clone(), address, bytes, deleter: None })
    }

    pub(crate) fn fill_zero(&self, buffer: &Buffer) -> Result<()> {
        if buffer.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range is the whole of a live buffer.
        unsafe { self.backend.fill_zero(buffer.address, buffer.bytes) }
    }

    /// Zeroes `bytes` bytes of a buffer from `offset` on.
    pub(crate) fn fill_zero_in(&self, buffer: &Buffer, offset: u64, bytes: u64) -> Result<()> {
        assert!(offset + bytes <= buffer.bytes, "zeroing beyond a buffer");
        // SAFETY: the range lies inside a live buffer.
        unsafe { self.backend.fill_zero(buffer.address + offset, bytes) }
    }

    /// Copies `bytes` bytes between offsets of two different buffers.
    pub(crate) fn copy_in(
        &self,
        (dst, dst_offset): (&Buffer, u64),
        (src, src_offset): (&Buffer, u64),
        bytes: u64,
    ) -> Result<()> {
        assert!(
            dst_offset + bytes <= dst.bytes && src_offset + bytes <= src.bytes,
            "copying beyond a buffer"
        );
        debug_assert_ne!(dst.address, src.address);
        // SAFETY: the ranges lie inside two live buffers, which are different.
        unsafe { self.backend.copy(dst.address + dst_offset, src.address + src_offset, bytes) }
    }

    /// Copies `bytes` from one address to another.
    ///
    /// # Safety
    /// Both ranges lie inside live allocations of this device, and do not overlap.
    pub(crate) unsafe fn copy(&self, src: u64, dst: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's obligation.
        unsafe { self.backend.copy(dst, src, bytes as u64) }
    }

    /// Has this device's kernels reach all memory that `peer` allocates, from now on and for good; `false` if they cannot.
    pub(crate) fn reach(&self, peer: &Device) -> Result<bool> {
        if self.backend.memory_id() == peer.backend.memory_id() {
            return Ok(true);
        }
        self.backend.reach(&*peer.backend)
    }

    /// Queues a copy to memory of `peer`, a device of the same kind, which may be this one.
    ///
    /// # Safety
    /// `src` lies inside a live allocation of this device, `dst` inside one of the peer's, and they do not overlap; what else is queued
    /// that uses either is in order with this queue.
    pub(crate) unsafe fn copy_to_peer(
        &self,
        peer: &Device,
        dst: u64,
        src: u64,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if self.backend.memory_id() == peer.backend.memory_id() {
            // SAFETY: the caller's obligations.
            return unsafe { self.copy(src, dst, bytes) };
        }
        // SAFETY: the caller's obligations.
        unsafe { self.backend.copy_to_peer(&*peer.backend, dst, src, bytes as u64) }
    }

    /// Copies the elements of a matrix to `address`.
    ///
    /// # Safety
    /// `layout` lies inside a live allocation of this device there.
    pub(crate) unsafe fn upload<T: Pod>(
        &self,
        address: u64,
        layout: &Layout,
        host: &[T],
    ) -> Result<()> {
        if size_of_val(host) == 0 {
            return Ok(());
        }
        // SAFETY: the caller's obligation.
        unsafe { self.backend.upload(Rows::of::<T>(address, layout), bytemuck::cast_slice(host)) }
    }

    /// Copies the elements of a matrix at `address` to the host.
    ///
    /// # Safety
    /// `layout` lies inside a live allocation of this device there.
    pub(crate) unsafe fn download<T: Pod>(
        &self,
        address: u64,
        layout: &Layout,
        host: &mut [T],
    ) -> Result<()> {
        if size_of_val(host) == 0 {
            return Ok(());
        }
        let host = bytemuck::cast_slice_mut(host);
        // SAFETY: the caller's obligation.
        unsafe { self.backend.download(Rows::of::<T>(address, layout), host) }
    }

    /// Queues a copy of the elements of a matrix to `address` from `host` on.
    ///
    /// # Safety
    /// `layout` lies inside a live allocation of this device there. `host` is valid for reads of as many elements until the work is
    /// done, and nobody writes them until then.
    pub(crate) unsafe fn upload_later<T: Pod>(
        &self,
        address: u64,
        layout: &Layout,
        host: *const T,
    ) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.upload_later(Rows::of::<T>(address, layout), host.cast()) }
    }

    /// Queues a copy of the elements of a matrix at `address` to `host`.
    ///
    /// # Safety
    /// `layout` lies inside a live allocation of this device there. `host` is valid for writes of as many elements until the work
    /// is done, and nobody else uses them until then.
    pub(crate) unsafe fn download_later<T: Pod>(
        &self,
        address: u64,
        layout: &Layout,
        host: *mut T,
    ) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.download_later(Rows::of::<T>(address, layout), host.cast()) }
    }

    /// Queues a copy of rows that may lie apart on both sides to `rows.address`.
    ///
    /// # Safety
    /// `rows` lies inside a live allocation of this device. `host` is valid for reads of as many rows until the work is done, and nobody
    /// writes them until then.
    pub(crate) unsafe fn upload_rows_later(&self, rows: Rows, host: *const u8) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.upload_later(rows, host) }
    }

    /// Queues a copy of rows that may lie apart on both sides from `rows.address`.
    ///
    /// # Safety
    /// `rows` lies inside a live allocation of this device. `host` is valid for writes of as many rows until the work is done, and nobody
    /// else uses them until then.
    pub(crate) unsafe fn download_rows_later(&self, rows: Rows, host: *mut u8) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.download_later(rows, host) }
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// Everything that the launch accesses at the two addresses lies inside live buffers.
    pub(crate) unsafe fn launch(&self, launch: &Launch, addresses: [u64; 2]) -> Result<()> {
        // SAFETY: the caller's obligation.
        unsafe { self.backend.launch(launch, addresses) }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}

/// Device memory that is given back when dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    device: Device,
    address: u64,
    bytes: u64,
    /// What gives the memory back if the device has not allocated it.
    deleter: Option<Deleter>,
}

impl Buffer {
    /// Memory that other code has allocated, and that `delete` gives back.
    pub fn of_others(
        device: &Device,
        address: u64,
        bytes: usize,
        delete: impl FnOnce(&Device) + Send + 'static,
    ) -> Self {
        let deleter = Some(Deleter::new(delete));
        Buffer { device: device.clone(), address, bytes: bytes as u64, deleter }
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Whether the device has allocated it, so that other devices [reach](Device::reach) it.
    pub fn is_of_device(&self) -> bool {
        self.deleter.is_none()
    }

    /// Has the memory belong to another queue of its device: what is queued there from now on comes after what was queued here.
    pub fn move_to(&mut self, device: &Device) -> Result<()> {
        require_one_memory(&self.device, device)?;
        device.wait_for(&self.device)?;
        self.device = device.clone();
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter.take() {
            deleter.call(&self.device);
        } else if self.bytes > 0 {
            // SAFETY: the address came from `allocate` and the buffer is gone after this.
            unsafe { self.device.backend.free(self.address) }
        }
    }
}

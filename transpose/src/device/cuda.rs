//! A GPU as a device, driven through `cuda_driver`.
//!
//! A context (the GPU's primary one, shared with every other user of it in the process, unless a program hands one over), one
//! pool of memory and the kernels in use, shared by all queues of the device; and a queue, which is a stream. The driver is opened at
//! run time. The calling thread's current context stays what it was.

mod function;
mod gpu;
mod kernels;
mod memory;
mod queue;

use super::Mark;
use super::backend::{Backend, Rows, Step, Urgency};
use super::host_memory::{HostMemory, Registered, Retired};
use crate::launch::Launch;
use crate::{Error, Facts, MemoryInfo, Result};
use cuda_driver::{
    Context, DeviceRows, Event, Graph, LaunchConfig, RawContext, RawStream, RowsShape, Start,
    Stream,
};
use function::Function;
pub(crate) use gpu::count;
use gpu::{Gpu, Keep};
use queue::Queue;
use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// The largest pitch, in bytes, that the driver takes for a two-dimensional copy.
const MAX_PITCH: usize = i32::MAX as usize;

/// A queue of a CUDA device.
pub(super) struct Cuda {
    // Before the device: whose stream it is may be kept alive by that.
    queue: Queue,
    gpu: Arc<Gpu>,
}

impl Cuda {
    /// A queue of its own on the GPU of that ordinal.
    pub fn new(ordinal: u32) -> Result<Self> {
        Self::on(Arc::new(Gpu::primary(ordinal)?), Urgency::Usual)
    }

    /// A queue of its own.
    fn on(gpu: Arc<Gpu>, urgency: Urgency) -> Result<Self> {
        let stream = match urgency {
            Urgency::Usual => Stream::new(&gpu.context)?,
            Urgency::First => {
                Stream::with_priority(&gpu.context, *gpu.context.stream_priorities()?.start())?
            }
        };
        Ok(Cuda { queue: Queue::new(stream), gpu })
    }

    /// The queue that a stream is, in a context.
    ///
    /// # Safety
    /// Both live as long as `keep` or, without it, as long as this and all queues that are made of it; the stream is one of the
    /// context.
    pub unsafe fn borrowed(
        context: *mut c_void,
        stream: *mut c_void,
        keep: Option<Keep>,
    ) -> Result<Self> {
        // SAFETY: the caller's obligation.
        let gpu = unsafe { Gpu::borrowed(RawContext(context), keep)? };
        // SAFETY: the caller's obligation.
        Ok(unsafe { Self::on_borrowed(Arc::new(gpu), stream) })
    }

    /// # Safety
    /// The stream is one of the device's context, and lives as long as this.
    unsafe fn on_borrowed(gpu: Arc<Gpu>, stream: *mut c_void) -> Self {
        // SAFETY: the caller's obligation.
        let stream = unsafe { Stream::borrowed(&gpu.context, RawStream(stream)) };
        Cuda { queue: Queue::new(stream), gpu }
    }

    fn context(&self) -> &Context {
        &self.gpu.context
    }

    /// A stream of others, and an event to order it and the queue by; `None` if it is the queue.
    ///
    /// # Safety
    /// The stream is one of the context, or a default one of it, and lives as long as what is returned.
    unsafe fn other(&self, stream: *mut c_void) -> Result<Option<(Stream, Event)>> {
        if self.queue.as_raw() == RawStream(stream) {
            return Ok(None);
        }
        // SAFETY: the caller's obligation.
        let theirs = unsafe { Stream::borrowed(self.context(), RawStream(stream)) };
        Ok(Some((theirs, Event::without_time(self.context())?)))
    }

    /// The dynamic shared memory of a launch, in bytes.
    fn dynamic_shared(&self, launch: &Launch, function: &Function) -> Result<u32> {
        match launch.blocks_per_multiprocessor {
            0 => Ok(launch.dynamic_shared_bytes),
            blocks => Ok(launch.dynamic_shared_bytes.max(self.filling_share(function, blocks)?)),
        }
    }

    /// The dynamic shared memory with which `blocks` blocks of a kernel, and no more, run on a multiprocessor
    /// that gives them a part of its shared memory; the rest stays cache.
    ///
    /// Fewer blocks are a gain only if the cache keeps room for all that they have asked for. Measured on
    /// compute capability 9.0; other chips are left to the driver.
    fn filling_share(&self, function: &Function, blocks: u32) -> Result<u32> {
        if self.gpu.facts.compute_capability != (9, 0) {
            return Ok(0);
        }
        function.filling_share(self.gpu.facts.multiprocessor_shared, blocks)
    }

    /// Queues a kernel on a stream of the device.
    ///
    /// # Safety
    /// As [`Backend::launch`]; what else uses the memory is ordered before or after the work on that stream.
    unsafe fn launch_on(
        &self,
        stream: &Stream,
        function: &Function,
        launch: &Launch,
        start: Start,
        addresses: [u64; 2],
    ) -> Result<()> {
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: self.dynamic_shared(launch, function)?,
            start,
        };
        let starts = launch.starts(addresses);
        let [first, second] =
            starts.each_ref().map(|start| std::ptr::from_ref(start).cast_mut().cast::<c_void>());
        let mut arguments = [first, second, launch.params.as_ptr().cast_mut().cast()];
        // SAFETY: the kernel's parameters are two addresses and a structure, of which the launch has all fields; the
        // driver reads as many bytes as the kernel declares, before it returns; the caller vouches for the memory that the kernel touches,
        // and all that uses it is in order; a kernel that starts early waits by itself.
        Ok(unsafe { stream.launch(function.loaded(), &config, &mut arguments) }?)
    }

    /// Runs one copy of `rows` between host and device and waits for it.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation; `host` is valid for the direction's access to as many rows,
    /// `rows.host_pitch` bytes apart.
    unsafe fn copy_rows(&self, rows: Rows, host: *mut u8, direction: Direction) -> Result<()> {
        let _current = self.context().enter()?;
        let stream = self.queue.enter();
        // SAFETY: the caller's obligations; the work is waited for below.
        let queued = unsafe { queue_rows(&stream, rows, host, direction) };
        // The host's memory is the caller's again when this returns, also if only a part could be queued.
        let done = stream.synchronize();
        queued.and(done).map_err(Error::from)
    }
}

/// Queues a copy of `rows`, or a part of it if the driver refuses the rest.
///
/// # Safety
/// As [`Cuda::copy_rows`], until the work is done.
unsafe fn queue_rows(
    stream: &Stream,
    rows: Rows,
    host: *mut u8,
    direction: Direction,
) -> Result<(), cuda_driver::Error> {
    let Rows { address, pitch, row_bytes, count, host_pitch } = rows;
    // SAFETY: every access lies inside what the caller vouches for.
    unsafe {
        // Nor does it take rows that overlap, as those of sliding windows do.
        let are_apart = pitch.min(host_pitch) >= row_bytes;
        if count > 1 && are_apart && pitch.max(host_pitch) <= MAX_PITCH {
            let device = DeviceRows { address, pitch };
            let shape = RowsShape { count, bytes: row_bytes, host_pitch };
            return match direction {
                Direction::Upload => stream.copy_rows_from_host(device, host, shape),
                Direction::Download => stream.copy_rows_to_host(host, device, shape),
            };
        }
        for row in 0..count {
            let device = address + (row * pitch) as u64;
            let host = host.add(row * host_pitch);
            match direction {
                Direction::Upload => stream.copy_from_host(device, host, row_bytes)?,
                Direction::Download => stream.copy_to_host(host, device, row_bytes)?,
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Direction {
    Upload,
    Download,
}

impl Backend for Cuda {
    fn facts(&self) -> &Facts {
        &self.gpu.facts
    }

    fn is_gpu(&self) -> bool {
        true
    }

    fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>> {
        let function = self.gpu.kernels.function(launch)?;
        let threads = launch.block.iter().product();
        let blocks =
            function.loaded().blocks_per_multiprocessor(threads, launch.dynamic_shared_bytes)?;
        Ok(Some(blocks as usize * self.gpu.facts.multiprocessors))
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        let out_of_memory = || Error::OutOfMemory { device: self.gpu.facts.name.clone(), bytes };
        let count = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        self.gpu.memory.allocate(count, &self.queue.enter()).map_err(|error| match error.code() {
            Some(cuda_driver::Error::OUT_OF_MEMORY) => out_of_memory(),
            _ => error.into(),
        })
    }

    unsafe fn free(&self, address: u64) {
        // SAFETY: the caller gives the allocation up, and all that uses it is in the stream.
        unsafe { self.gpu.memory.free(address, &self.queue.enter()) }
    }

    unsafe fn fill_zero(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller vouches for the range; all that uses it is in the stream.
        Ok(unsafe { self.queue.enter().fill(address, 0, bytes as usize) }?)
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller vouches for both ranges; all that uses them is in the stream.
        Ok(unsafe { self.queue.enter().copy(dst, src, bytes as usize) }?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn reach(&self, peer: &dyn Backend) -> Result<bool> {
        match peer.as_any().downcast_ref::<Self>() {
            Some(peer) => self.gpu.reach(&peer.gpu),
            None => Ok(false),
        }
    }

    unsafe fn copy_to_peer(
        &self,
        peer: &dyn Backend,
        dst: u64,
        src: u64,
        bytes: u64,
    ) -> Result<()> {
        let Some(peer) = peer.as_any().downcast_ref::<Self>() else {
            let (src, dst) = (self.gpu.facts.name.clone(), peer.facts().name.clone());
            return Err(Error::DeviceMismatch { src, dst });
        };
        let stream = self.queue.enter();
        // SAFETY: the caller's obligations.
        Ok(unsafe { stream.copy_to_peer(peer.context(), dst, src, bytes as usize) }?)
    }

    unsafe fn upload(&self, rows: Rows, host: &[u8]) -> Result<()> {
        debug_assert_eq!(host.len(), rows.count * rows.row_bytes);
        // SAFETY: the caller vouches for the rows; an upload only reads `host`.
        unsafe { self.copy_rows(rows, host.as_ptr().cast_mut(), Direction::Upload) }
    }

    unsafe fn download(&self, rows: Rows, host: &mut [u8]) -> Result<()> {
        debug_assert_eq!(host.len(), rows.count * rows.row_bytes);
        // SAFETY: the caller vouches for the rows; `host` is borrowed exclusively.
        unsafe { self.copy_rows(rows, host.as_mut_ptr(), Direction::Download) }
    }

    unsafe fn launch(&self, launch: &Launch, addresses: [u64; 2]) -> Result<()> {
        let function = self.gpu.kernels.function(launch)?;
        let start = match function.waits() {
            _ if launch.cooperative => Start::Cooperative,
            // A kernel that starts early waits for the launch before it, not for what the driver has a default stream wait for.
            true if !self.queue.is_default() => Start::Early,
            _ => Start::InOrder,
        };
        // SAFETY: the caller's obligations.
        unsafe { self.launch_on(&self.queue.enter(), &function, launch, start, addresses) }
    }

    unsafe fn upload_later(&self, rows: Rows, host: *const u8) -> Result<()> {
        // SAFETY: the caller's obligations; an upload only reads `host`.
        let queued =
            unsafe { queue_rows(&self.queue.enter(), rows, host.cast_mut(), Direction::Upload) };
        Ok(queued?)
    }

    unsafe fn download_later(&self, rows: Rows, host: *mut u8) -> Result<()> {
        // SAFETY: the caller's obligations.
        Ok(unsafe { queue_rows(&self.queue.enter(), rows, host, Direction::Download) }?)
    }

    fn allocate_host(&self, bytes: usize, align: usize) -> Result<HostMemory> {
        HostMemory::page_locked(self.context(), bytes, align)
    }

    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<Registered> {
        // SAFETY: the caller's obligations.
        unsafe { Registered::with(self.context(), start, bytes) }
    }

    fn retired(&self) -> &Retired {
        &self.gpu.retired
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.queue.enter().synchronize()?)
    }

    fn memory_info(&self) -> Result<MemoryInfo> {
        let cuda_driver::MemoryInfo { free, total } = self.context().memory_info()?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }

    fn cuda_ordinal(&self) -> Option<u32> {
        Some(self.gpu.ordinal)
    }

    fn cuda_context(&self) -> Option<&Context> {
        Some(self.context())
    }

    fn cuda_stream(&self) -> Option<*mut c_void> {
        Some(self.queue.as_raw().0)
    }

    unsafe fn graph(&self, steps: &[Step]) -> Result<Option<Graph>> {
        // Kernels are loaded, and told how much shared memory they get, before anything is captured.
        for step in steps {
            if let Step::Launch(launch, _) = step {
                self.dynamic_shared(launch, &*self.gpu.kernels.function(launch)?)?;
            }
        }
        // Others may use the process's default stream meanwhile.
        let stream = Stream::non_blocking(self.context())?;
        let queue = |step: &Step| match step {
            Step::Launch(launch, addresses) => {
                let function = self.gpu.kernels.function(launch)?;
                // Not early: drivers before CUDA 12.3 do not capture that.
                let start = if launch.cooperative { Start::Cooperative } else { Start::InOrder };
                // SAFETY: nothing runs now; the caller vouches for when it does.
                unsafe { self.launch_on(&stream, &function, launch, start, *addresses) }
            }
            Step::Copy { dst, src, bytes } => {
                // SAFETY: nothing runs now; the caller vouches for when it does.
                Ok(unsafe { stream.copy(*dst, *src, *bytes) }?)
            }
        };
        // SAFETY: nobody else has the stream; nothing waits for it; the caller vouches for the launches of the graph.
        unsafe { Graph::capture(&stream, || steps.iter().try_for_each(queue)) }
    }

    unsafe fn replay(&self, graph: &Graph) -> Result<()> {
        // SAFETY: the caller's obligations.
        Ok(unsafe { graph.launch(&self.queue.enter()) }?)
    }

    fn memory_id(&self) -> usize {
        Arc::as_ptr(&self.gpu).addr()
    }

    fn new_queue(&self, urgency: Urgency) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Self::on(self.gpu.clone(), urgency)?))
    }

    unsafe fn borrowed_queue(&self, stream: *mut c_void) -> Option<Arc<dyn Backend>> {
        // SAFETY: the caller's obligation.
        Some(Arc::new(unsafe { Self::on_borrowed(self.gpu.clone(), stream) }))
    }

    unsafe fn wait_for_raw(&self, stream: *mut c_void) -> Result<()> {
        // SAFETY: the caller's obligations.
        let Some((theirs, event)) = (unsafe { self.other(stream)? }) else { return Ok(()) };
        event.record(&theirs)?;
        Ok(self.queue.enter().wait(&event)?)
    }

    unsafe fn raw_waits(&self, stream: *mut c_void) -> Result<()> {
        // SAFETY: the caller's obligations.
        let Some((theirs, event)) = (unsafe { self.other(stream)? }) else { return Ok(()) };
        event.record(&self.queue.enter())?;
        Ok(theirs.wait(&event)?)
    }

    fn mark(&self, timed: bool) -> Result<Mark> {
        let event = if timed { Event::new } else { Event::without_time };
        Ok(Mark::Cuda(event(self.context())?))
    }

    fn record(&self, mark: &Mark) -> Result<()> {
        match mark {
            Mark::Cuda(event) => Ok(event.record(&self.queue.enter())?),
            #[cfg(feature = "simulator")]
            Mark::Passed => Ok(()),
        }
    }

    fn wait(&self, mark: &Mark) -> Result<()> {
        match mark {
            Mark::Cuda(event) => Ok(self.queue.enter().wait(event)?),
            #[cfg(feature = "simulator")]
            Mark::Passed => Ok(()),
        }
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>> {
        // Around the work too: to enter for each launch would be in the time of those that are shorter than the
        // driver takes to queue them.
        let _current = self.context().enter()?;
        let (start, stop) = (Event::new(self.context())?, Event::new(self.context())?);
        start.record(&self.queue.enter())?;
        work()?;
        stop.record(&self.queue.enter())?;
        stop.synchronize()?;
        Ok(Some(stop.elapsed_since(&start)?))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is queued uses the kernels and the memory that may go next. A failure is one of that work, and
        // there is nobody left to tell.
        let _ = self.synchronize();
    }
}

//! A GPU as a device, driven through `cuda_driver`.
//!
//! One context (the device's primary one, shared with every other user of it in the process), one
//! stream, one pool of memory, and the kernels in use. The driver is opened at run time. The calling
//! thread's current context stays what it was.

mod function;
mod kernels;
mod memory;

use super::{Backend, Rows};
use crate::launch::Launch;
use crate::{Error, Facts, Result};
use cuda_driver::{
    Context, DeviceAttribute, DeviceRows, Driver, Event, LaunchConfig, RowsShape, Start, Stream,
};
use function::Function;
use kernels::Kernels;
use memory::Memory;
use std::ffi::c_void;
use std::time::Duration;

/// The largest pitch, in bytes, that the driver takes for a two-dimensional copy.
const MAX_PITCH: usize = i32::MAX as usize;

/// A CUDA device and its queue.
pub(super) struct Cuda {
    ordinal: u32,
    facts: Facts,
    kernels: Kernels,
    memory: Memory,
    stream: Stream,
}

impl Cuda {
    pub fn new(ordinal: u32) -> Result<Self> {
        let driver = Driver::get().map_err(|error| no_driver(error, ordinal))?;
        let count = driver.device_count()?;
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        let device = driver.device(ordinal)?;
        let facts = facts(&device)?;
        let context = Context::primary(device)?;
        Ok(Cuda {
            ordinal,
            kernels: Kernels::new(&context, facts.compute_capability, facts.block_shared),
            memory: Memory::new(&context)?,
            stream: Stream::new(&context)?,
            facts,
        })
    }

    fn context(&self) -> &Context {
        self.stream.context()
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
        if self.facts.compute_capability != (9, 0) {
            return Ok(0);
        }
        function.filling_share(self.facts.multiprocessor_shared, blocks)
    }

    /// Runs one copy of `rows` between host and device and waits for it.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation; `host` is valid for the direction's access to
    /// `rows.count * rows.row_bytes` bytes.
    unsafe fn copy_rows(&self, rows: Rows, host: *mut u8, direction: Direction) -> Result<()> {
        let _current = self.context().enter()?;
        // SAFETY: the caller's obligations; the work is waited for below.
        let queued = unsafe { self.queue_rows(rows, host, direction) };
        // The host's memory is the caller's again when this returns, also if only a part could be queued.
        let done = self.stream.synchronize();
        queued.and(done).map_err(Error::from)
    }

    /// Queues a copy of `rows`, or a part of it if the driver refuses the rest.
    ///
    /// # Safety
    /// As [`copy_rows`](Self::copy_rows), until the work is done.
    unsafe fn queue_rows(
        &self,
        rows: Rows,
        host: *mut u8,
        direction: Direction,
    ) -> Result<(), cuda_driver::Error> {
        let Rows { address, pitch, row_bytes, count } = rows;
        // SAFETY: every access lies inside what the caller vouches for.
        unsafe {
            if count > 1 && pitch <= MAX_PITCH {
                let (device, shape) =
                    (DeviceRows { address, pitch }, RowsShape { count, bytes: row_bytes });
                return match direction {
                    Direction::Upload => self.stream.copy_rows_from_host(device, host, shape),
                    Direction::Download => self.stream.copy_rows_to_host(host, device, shape),
                };
            }
            for row in 0..count {
                let device = address + (row * pitch) as u64;
                let host = host.add(row * row_bytes);
                match direction {
                    Direction::Upload => self.stream.copy_from_host(device, host, row_bytes)?,
                    Direction::Download => self.stream.copy_to_host(host, device, row_bytes)?,
                }
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Upload,
    Download,
}

impl Backend for Cuda {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn is_gpu(&self) -> bool {
        true
    }

    fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>> {
        let function = self.kernels.function(launch)?;
        let threads = launch.block.iter().product();
        let blocks =
            function.loaded().blocks_per_multiprocessor(threads, launch.dynamic_shared_bytes)?;
        Ok(Some(blocks as usize * self.facts.multiprocessors))
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        let out_of_memory = || Error::OutOfMemory { device: self.facts.name.clone(), bytes };
        let count = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        self.memory.allocate(count, &self.stream).map_err(|error| match error.code() {
            Some(cuda_driver::Error::OUT_OF_MEMORY) => out_of_memory(),
            _ => error.into(),
        })
    }

    unsafe fn free(&self, address: u64) {
        // SAFETY: the caller gives the allocation up, and all that uses it is in the stream.
        unsafe { self.memory.free(address, &self.stream) }
    }

    unsafe fn fill_zero(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller vouches for the range; all that uses it is in the stream.
        Ok(unsafe { self.stream.fill(address, 0, bytes as usize) }?)
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller vouches for both ranges; all that uses them is in the stream.
        Ok(unsafe { self.stream.copy(dst, src, bytes as usize) }?)
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
        let function = self.kernels.function(launch)?;
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: self.dynamic_shared(launch, &function)?,
            start: match function.waits() {
                _ if launch.cooperative => Start::Cooperative,
                true => Start::Early,
                false => Start::InOrder,
            },
        };
        let starts = launch.starts(addresses);
        let [first, second] =
            starts.each_ref().map(|start| std::ptr::from_ref(start).cast_mut().cast::<c_void>());
        let mut arguments = [first, second, launch.params.as_ptr().cast_mut().cast()];
        // SAFETY: the kernel's parameters are two addresses and a structure, of which the launch has all fields; the
        // driver reads as many bytes as the kernel declares, before it returns; the caller vouches for the memory that the kernel touches,
        // and all that uses it is in the stream; a kernel that starts early waits by itself.
        Ok(unsafe { self.stream.launch(function.loaded(), &config, &mut arguments) }?)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    fn cuda_ordinal(&self) -> Option<u32> {
        Some(self.ordinal)
    }

    fn cuda_context(&self) -> Option<*mut c_void> {
        Some(self.context().as_raw().0)
    }

    fn cuda_stream(&self) -> Option<*mut c_void> {
        Some(self.stream.as_raw().0)
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>> {
        // Around the work too: to enter for each launch would be in the time of those that are shorter than the
        // driver takes to queue them.
        let _current = self.context().enter()?;
        let (start, stop) = (Event::new(self.context())?, Event::new(self.context())?);
        start.record(&self.stream)?;
        work()?;
        stop.record(&self.stream)?;
        stop.synchronize()?;
        Ok(Some(stop.elapsed_since(&start)?))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is queued uses the kernels and the memory that go next. A failure is one of that work, and
        // there is nobody left to tell.
        let _ = self.stream.synchronize();
    }
}

/// Why there is no driver to ask for a device; one that starts and sees no GPU has no device.
fn no_driver(error: cuda_driver::Error, ordinal: u32) -> Error {
    const NO_DEVICE: u32 = 100;
    match error.code() {
        None => error.into(),
        Some(NO_DEVICE) => Error::NoDevice { ordinal, count: 0 },
        Some(_) => Error::NoDriver { reason: error.to_string(), attempts: Vec::new() },
    }
}

/// Asks the device what it is like.
fn facts(device: &cuda_driver::Device) -> Result<Facts> {
    let ask = |attribute| device.attribute(attribute).map(|value| value as usize);
    Ok(Facts {
        name: device.name()?,
        compute_capability: device.compute_capability()?,
        multiprocessors: ask(DeviceAttribute::MULTIPROCESSOR_COUNT)?,
        block_shared: ask(DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        multiprocessor_shared: ask(DeviceAttribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        side_by_side: true,
        in_turn: false,
    })
}

//! A GPU as a device, driven through `cust`.
//!
//! One context (the device's primary one, shared with every other user of it in the process), one
//! stream, one module. The driver is opened at run time by `cuda_driver`.

mod function;
mod host_memory;
mod launcher;

use super::{Backend, HostAllocation, Rows};
use crate::kernels::{Entry, Family};
use crate::launch::{Launch, MAX_WORDS};
use crate::study::MemoryKind;
use crate::{Error, Facts, Result};
use cust::context::{Context, CurrentContext};
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::memory::{DevicePointer, cuda_free, cuda_malloc};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use function::Function;
use host_memory::HostMemory;
use launcher::{Grid, Launcher};
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The largest pitch, in bytes, that the driver takes for a two-dimensional copy.
const MAX_PITCH: usize = i32::MAX as usize;

/// A CUDA device, its context and its queue.
pub(super) struct Cuda {
    kernels: Mutex<Kernels>,
    launcher: Launcher,
    stream: Stream,
    facts: Facts,
    host_memory: HostMemory,
    // Last: fields are dropped in order, and what is above lives in the context.
    context: Context,
}

/// Whether a kernel has the L2 cache keep what it loads.
type EvictLast = bool;

/// Whether a module's kernels wait by themselves for the launches before theirs.
type Waits = bool;

/// The kernels in use so far, and the modules they come from.
#[derive(Default)]
struct Kernels {
    functions: HashMap<(Entry, EvictLast), Arc<Function>>,
    modules: HashMap<(Family, EvictLast), (Module, Waits)>,
}

impl Cuda {
    pub fn new(ordinal: u32) -> Result<Self> {
        cuda_driver::available().map_err(|error| Error::NoDriver { reason: error.to_string() })?;
        cust::init(cust::CudaFlags::empty()).map_err(during("starting the driver"))?;
        let count = cust::device::Device::num_devices().map_err(during("counting devices"))?;
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        let device =
            cust::device::Device::get_device(ordinal).map_err(during("opening the device"))?;
        let facts = facts(&device)?;
        let context = Context::new(device).map_err(during("retaining the primary context"))?;
        let stream =
            Stream::new(StreamFlags::DEFAULT, None).map_err(during("creating a stream"))?;
        let host_memory = HostMemory::new(device);
        Ok(Cuda {
            kernels: Mutex::default(),
            launcher: Launcher::new(),
            stream,
            facts,
            host_memory,
            context,
        })
    }

    /// Makes this device's context current on the calling thread, as every driver call needs.
    fn enter(&self) -> Result<()> {
        CurrentContext::set_current(&self.context).map_err(during("entering the context"))
    }

    /// A launch's kernel; the first of a family loads the family.
    fn function(&self, launch: &Launch) -> Result<Arc<Function>> {
        let entry = launch.entry;
        let evict_last =
            launch.evict_last && entry.family.may_evict_last(self.facts.compute_capability);
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let Kernels { functions, modules } = &mut *kernels;
        if let Some(function) = functions.get(&(entry, evict_last)) {
            return Ok(function.clone());
        }
        let (module, waits) = match modules.entry((entry.family, evict_last)) {
            Occupied(loaded) => loaded.into_mut(),
            Vacant(slot) => slot.insert(self.load(entry.family, evict_last)?),
        };
        let found = module.get_function(entry.name).map_err(during("looking up a kernel"))?;
        let function = Arc::new(Function::new(found.to_raw(), *waits, self.facts.block_shared)?);
        functions.insert((entry, evict_last), function.clone());
        Ok(function)
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

    /// Loads a family: machine code where it ships for this chip, else PTX, which the driver compiles. That
    /// is also the way out if the driver refuses the machine code, as one older than the assembler may.
    fn load(&self, family: Family, evict_last: EvictLast) -> Result<(Module, Waits)> {
        let code = match evict_last {
            true => family.cubin_evict_last(),
            false => family.cubin(self.facts.compute_capability),
        };
        match code.map(|code| Module::from_cubin(code, &[])) {
            Some(Ok(module)) => Ok((module, family.waits(self.facts.compute_capability))),
            Some(Err(_)) | None => {
                let module = Module::from_ptx(family.ptx(), &[]);
                Ok((module.map_err(during("loading kernels"))?, false))
            }
        }
    }

    /// Runs one copy of `rows` between host and device and waits for it.
    ///
    /// # Safety
    /// `rows` lies inside one live allocation; `host` is valid for the direction's access to
    /// `rows.count * rows.row_bytes` bytes.
    unsafe fn copy_rows(&self, rows: Rows, host: *mut u8, direction: Direction) -> Result<()> {
        self.enter()?;
        // A single row, or rows too far apart for the driver's two-dimensional copy.
        if rows.count == 1 || rows.pitch > MAX_PITCH {
            for row in 0..rows.count {
                let device = rows.address + (row * rows.pitch) as u64;
                // SAFETY: inside what the caller vouches for.
                unsafe {
                    let host = host.add(row * rows.row_bytes).cast::<c_void>();
                    let stream = self.stream.as_inner();
                    check(
                        "copying between host and device",
                        match direction {
                            Direction::Upload => {
                                sys::cuMemcpyHtoDAsync_v2(device, host, rows.row_bytes, stream)
                            }
                            Direction::Download => {
                                sys::cuMemcpyDtoHAsync_v2(host, device, rows.row_bytes, stream)
                            }
                        },
                    )?;
                }
            }
        } else {
            let copy = two_dimensional(rows, host, direction);
            // SAFETY: inside what the caller vouches for; the driver reads the descriptor now.
            unsafe {
                check(
                    "copying rows between host and device",
                    sys::cuMemcpy2DAsync_v2(&copy, self.stream.as_inner()),
                )?
            };
        }
        // The host's memory is the caller's again when this returns.
        self.stream.synchronize().map_err(during("waiting for a copy"))
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Upload,
    Download,
}

fn two_dimensional(rows: Rows, host: *mut u8, direction: Direction) -> sys::CUDA_MEMCPY2D {
    use sys::CUmemorytype::{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST};
    let (src_type, src_pitch, dst_type, dst_pitch) = match direction {
        Direction::Upload => (CU_MEMORYTYPE_HOST, rows.row_bytes, CU_MEMORYTYPE_DEVICE, rows.pitch),
        Direction::Download => {
            (CU_MEMORYTYPE_DEVICE, rows.pitch, CU_MEMORYTYPE_HOST, rows.row_bytes)
        }
    };
    // Of the two addresses on either side the driver reads the one that its type names.
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: src_type,
        srcHost: host.cast(),
        srcDevice: rows.address,
        srcArray: std::ptr::null_mut(),
        srcPitch: src_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: dst_type,
        dstHost: host.cast(),
        dstDevice: rows.address,
        dstArray: std::ptr::null_mut(),
        dstPitch: dst_pitch,
        WidthInBytes: rows.row_bytes,
        Height: rows.count,
    }
}

impl Backend for Cuda {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn is_gpu(&self) -> bool {
        true
    }

    fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>> {
        self.enter()?;
        let function = self.function(launch)?;
        let threads = launch.block.iter().product::<u32>();
        let mut blocks = 0;
        // SAFETY: the driver writes one number; the function is one that it named.
        check("asking how many blocks fit", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function.handle(),
                threads as i32,
                launch.dynamic_shared_bytes as usize,
            )
        })?;
        Ok(Some(blocks as usize * self.facts.multiprocessors))
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        self.enter()?;
        let out_of_memory = || Error::OutOfMemory { device: self.facts.name.clone(), bytes };
        let count = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        // SAFETY: the memory is reached only through the address, by this trait's operations.
        match unsafe { cuda_malloc::<u8>(count) } {
            Ok(pointer) => Ok(pointer.as_raw()),
            Err(CudaError::OutOfMemory) => Err(out_of_memory()),
            Err(code) => Err(during("allocating memory")(code)),
        }
    }

    unsafe fn free(&self, address: u64) {
        // Queued work may still use the memory. A failure here is one of that work, and later
        // calls report it; there is nobody to report it to now.
        if self.enter().is_ok() {
            let _ = self.stream.synchronize();
            // SAFETY: the caller gives the allocation up, and what used it is done.
            let _ = unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) };
        }
    }

    fn allocate_host(&self, kind: MemoryKind, bytes: u64) -> Result<HostAllocation> {
        self.enter()?;
        self.host_memory.allocate(kind, bytes).map_err(|error| match error {
            Error::Cuda { code: 2, .. } => {
                Error::OutOfMemory { device: self.facts.name.clone(), bytes }
            }
            other => other,
        })
    }

    unsafe fn free_host(&self, kind: MemoryKind, allocation: HostAllocation) {
        // As in `free`.
        if self.enter().is_ok() {
            let _ = self.stream.synchronize();
            // SAFETY: the caller gives the allocation up, and what used it is done.
            unsafe { self.host_memory.free(kind, allocation) }
        }
    }

    unsafe fn fill_zero(&self, address: u64, bytes: u64) -> Result<()> {
        self.enter()?;
        // SAFETY: the caller vouches for the range.
        check("filling with zeros", unsafe {
            sys::cuMemsetD8Async(address, 0, bytes as usize, self.stream.as_inner())
        })
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()> {
        self.enter()?;
        // SAFETY: the caller vouches for both ranges.
        check("copying on the device", unsafe {
            sys::cuMemcpyDtoDAsync_v2(dst, src, bytes as usize, self.stream.as_inner())
        })
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
        self.enter()?;
        let function = self.function(launch)?;
        let dynamic_shared = match launch.at_once {
            0 => launch.dynamic_shared_bytes,
            blocks => launch.dynamic_shared_bytes.max(self.filling_share(&function, blocks)?),
        };
        let mut words = [0u64; 2 + MAX_WORDS];
        for (word, argument) in words.iter_mut().zip(launch.arguments(addresses)) {
            *word = argument;
        }
        let mut arguments = words.each_mut().map(|word| (word as *mut u64).cast::<c_void>());
        let Launch { grid, block, .. } = *launch;
        // SAFETY: the kernel's parameters are the launch's words, 64 bits each, and the driver reads
        // as many as the kernel declares; the caller vouches for the memory that the kernel touches.
        unsafe {
            let grid = Grid { blocks: grid, threads: block, dynamic_shared };
            self.launcher.launch(&function, grid, &self.stream, &mut arguments)
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.enter()?;
        self.stream.synchronize().map_err(during("waiting for queued work"))
    }

    fn cuda_stream(&self) -> Option<*mut c_void> {
        Some(self.stream.as_inner().cast())
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>> {
        self.enter()?;
        let event = || Event::new(EventFlags::DEFAULT).map_err(during("creating an event"));
        let (start, stop) = (event()?, event()?);
        start.record(&self.stream).map_err(during("recording an event"))?;
        work()?;
        self.enter()?;
        stop.record(&self.stream).map_err(during("recording an event"))?;
        stop.synchronize().map_err(during("waiting for an event"))?;
        let milliseconds =
            stop.elapsed_time_f32(&start).map_err(during("reading the elapsed time"))?;
        Ok(Some(Duration::from_secs_f64(f64::from(milliseconds) / 1e3)))
    }
}

/// Asks the device what it is like.
fn facts(device: &cust::device::Device) -> Result<Facts> {
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    };
    let ask = |attribute| -> Result<i32> {
        let mut value = 0;
        // SAFETY: the driver writes one number; the device is one that it named.
        check("asking what the device is like", unsafe {
            sys::cuDeviceGetAttribute(&mut value, attribute, device.as_raw())
        })?;
        Ok(value)
    };
    Ok(Facts {
        name: device.name().map_err(during("asking for the device's name"))?,
        compute_capability: (
            ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
        block_shared: ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize,
        multiprocessor_shared: ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?
            as usize,
        side_by_side: true,
        in_turn: false,
    })
}

/// Names the operation in a driver's answer.
fn during(operation: &'static str) -> impl FnOnce(CudaError) -> Error {
    move |code| Error::Cuda { operation, code: code as u32 }
}

/// The driver's answer to a raw call.
fn check(operation: &'static str, answer: sys::CUresult) -> Result<()> {
    match answer as u32 {
        0 => Ok(()),
        code => Err(Error::Cuda { operation, code }),
    }
}

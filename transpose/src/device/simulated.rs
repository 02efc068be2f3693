//! The simulator as a device: the shipped PTX, executed on the CPU.

use super::{Backend, HostAllocation, Limits, Rows};
use crate::kernels::Family;
use crate::launch::Launch;
use crate::study::MemoryKind;
use crate::{Error, Result};
use simt::{CounterOptions, Counters, LaunchConfig, Memory, Module, Options};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The memory that a simulated device has, in bytes.
const MEMORY_LIMIT: u64 = 16 << 30;

/// A CPU that stands in for a GPU.
pub(super) struct Simulated {
    memory: Memory,
    /// What has been counted, while somebody wants to know.
    counters: Mutex<Option<Counters>>,
}

impl Simulated {
    pub fn new() -> Self {
        Simulated { memory: Memory::new(MEMORY_LIMIT), counters: Mutex::default() }
    }

    fn counters(&self) -> MutexGuard<'_, Option<Counters>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A family of the shipped kernels, parsed once per process.
fn module(family: Family) -> Result<&'static Module> {
    static MODULES: [OnceLock<Module>; Family::ALL.len()] =
        [const { OnceLock::new() }; Family::ALL.len()];
    let module = &MODULES[family as usize];
    if let Some(module) = module.get() {
        return Ok(module);
    }
    let parsed = Module::parse(family.ptx())?;
    Ok(module.get_or_init(|| parsed))
}

impl Backend for Simulated {
    fn name(&self) -> &str {
        "the simulator"
    }

    fn is_gpu(&self) -> bool {
        false
    }

    /// Those of a Hopper GPU, except that nobody may wait for a block that has not started.
    fn limits(&self) -> Limits {
        Limits {
            block_shared: 227 << 10,
            multiprocessor_shared: 228 << 10,
            multiprocessors: 4,
            side_by_side: false,
        }
    }

    fn side_by_side(&self, _: &Launch) -> Result<Option<usize>> {
        Ok(None)
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        self.memory.alloc(bytes).map_err(|error| match error {
            simt::Error::OutOfMemory { .. } => {
                Error::OutOfMemory { device: self.name().to_owned(), bytes }
            }
            other => other.into(),
        })
    }

    unsafe fn free(&self, address: u64) {
        let freed = self.memory.free(address);
        debug_assert!(freed.is_ok(), "{freed:?}");
    }

    /// The simulator has one kind of memory, and stands in with it for every kind.
    fn allocate_host(&self, _kind: MemoryKind, bytes: u64) -> Result<HostAllocation> {
        let address = self.allocate(bytes)?;
        self.memory.fill(address, 0, bytes)?;
        Ok(HostAllocation { host: None, address })
    }

    unsafe fn free_host(&self, _kind: MemoryKind, allocation: HostAllocation) {
        // SAFETY: the caller's obligations.
        unsafe { self.free(allocation.address) }
    }

    unsafe fn fill_zero(&self, address: u64, bytes: u64) -> Result<()> {
        Ok(self.memory.fill(address, 0, bytes)?)
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()> {
        Ok(self.memory.copy(dst, src, bytes)?)
    }

    unsafe fn upload(&self, rows: Rows, host: &[u8]) -> Result<()> {
        for (row, bytes) in host.chunks_exact(rows.row_bytes).enumerate() {
            self.memory.write(rows.address + (row * rows.pitch) as u64, bytes)?;
        }
        Ok(())
    }

    unsafe fn download(&self, rows: Rows, host: &mut [u8]) -> Result<()> {
        for (row, bytes) in host.chunks_exact_mut(rows.row_bytes).enumerate() {
            self.memory.read(rows.address + (row * rows.pitch) as u64, bytes)?;
        }
        Ok(())
    }

    unsafe fn launch(&self, launch: &Launch, addresses: [u64; 2]) -> Result<()> {
        let Launch { entry, grid, block, dynamic_shared_bytes, .. } = *launch;
        let words: Vec<u64> = launch.arguments(addresses).collect();
        let arguments: Vec<&[u8]> = words.iter().map(bytemuck::bytes_of).collect();
        let config = LaunchConfig { grid, block, dynamic_shared_bytes };
        let kernel = module(entry.family)?.kernel(entry.name)?;
        let counting = self.counters().is_some();
        let counters = counting.then(CounterOptions::default);
        let options = Options { counters, ..Options::default() };
        let report = kernel.launch(&self.memory, &config, &arguments, &options)?;
        if let (Some(sum), Some(counted)) = (self.counters().as_mut(), report.counters) {
            sum.add(&counted.total);
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn cuda_stream(&self) -> Option<*mut std::ffi::c_void> {
        None
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>> {
        work()?;
        Ok(None)
    }

    fn count(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Counters>> {
        *self.counters() = Some(Counters::default());
        let done = work();
        let counted = self.counters().take();
        done.map(|()| counted)
    }
}

//! The simulator as a device: the shipped PTX, executed on the CPU.

use super::{Backend, Limits, Rows};
use crate::kernels::Family;
use crate::launch::Launch;
use crate::{Error, Result};
use simt::{LaunchConfig, Memory, Module, Options};
use std::sync::OnceLock;
use std::time::Duration;

/// The memory that a simulated device has, in bytes.
const MEMORY_LIMIT: u64 = 16 << 30;

/// A CPU that stands in for a GPU.
pub(super) struct Simulated {
    memory: Memory,
}

impl Simulated {
    pub fn new() -> Self {
        Simulated { memory: Memory::new(MEMORY_LIMIT) }
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
        kernel.launch(&self.memory, &config, &arguments, &Options::default())?;
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>> {
        work()?;
        Ok(None)
    }
}

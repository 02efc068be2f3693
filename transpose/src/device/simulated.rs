//! The simulator as a device: the shipped PTX, executed on the CPU.

use super::{Backend, Rows};
use crate::image::{EntryPoint, Image};
use crate::launch::Launch;
use crate::simulator::{self, DeviceId, Launched};
use crate::{Error, Facts, Result};
use simt::{Checks, Kernel, LaunchConfig, Memory, Module, Options};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The memory that a simulated device has, in bytes.
const MEMORY_LIMIT: u64 = 16 << 30;

/// A CPU that stands in for a GPU.
pub(super) struct Simulated {
    memory: Memory,
    checks: Checks,
    facts: Facts,
}

impl Simulated {
    pub fn new(checks: Checks) -> Self {
        let memory = match checks.uninitialised_global {
            true => Memory::new(MEMORY_LIMIT).tracking_initialised(),
            false => Memory::new(MEMORY_LIMIT),
        };
        Simulated { memory, checks, facts: Facts::simulated() }
    }

    /// The address of the device, which nothing else has while it is observed.
    fn id(&self) -> DeviceId {
        DeviceId(std::ptr::from_ref(self).addr())
    }
}

/// An image as the simulator runs it, parsed once per process and kept for its life, as the image itself is.
fn module(image: &'static Image) -> Result<&'static Module> {
    static MODULES: Mutex<BTreeMap<usize, &'static Module>> = Mutex::new(BTreeMap::new());
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    match modules.entry(std::ptr::from_ref(image).addr()) {
        Entry::Occupied(parsed) => Ok(parsed.get()),
        Entry::Vacant(slot) => Ok(*slot.insert(Box::leak(Box::new(Module::parse(&image.ptx())?)))),
    }
}

/// An entry point as the simulator runs it.
fn kernel(entry: EntryPoint) -> Result<&'static Kernel> {
    Ok(module(entry.image)?.kernel(entry.name)?)
}

impl Backend for Simulated {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn is_gpu(&self) -> bool {
        false
    }

    fn side_by_side(&self, _: &Launch) -> Result<Option<usize>> {
        Ok(None)
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        self.memory.alloc(bytes).map_err(|error| match error {
            simt::Error::OutOfMemory { .. } => {
                Error::OutOfMemory { device: self.facts.name.clone(), bytes }
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
        let [first, second] = launch.starts(addresses);
        let arguments = [
            bytemuck::bytes_of(&first),
            bytemuck::bytes_of(&second),
            bytemuck::cast_slice(&launch.params),
        ];
        let config = LaunchConfig { grid, block, dynamic_shared_bytes };
        let mut options = Options { checks: self.checks, ..Options::default() };
        let observer = simulator::observer(self.id());
        observer.iter().for_each(|observer| observer.prepare(&mut options));
        let code = kernel(entry)?;
        let mut report = code.launch(&self.memory, &config, &arguments, &options)?;
        let findings = std::mem::take(&mut report.findings);
        if !findings.is_empty() {
            return Err(Error::KernelDefects { kernel: entry.name, findings });
        }
        if let Some(observer) = observer {
            let kernel = entry.name;
            observer.launched(Launched { kernel, grid, block, dynamic_shared_bytes, report, code });
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn cuda_ordinal(&self) -> Option<u32> {
        None
    }

    fn cuda_context(&self) -> Option<*mut std::ffi::c_void> {
        None
    }

    fn cuda_stream(&self) -> Option<*mut std::ffi::c_void> {
        None
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Duration>> {
        work()?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Width, entry};
    use crate::launch::Fields;
    use kernel_abi::classic::{BLOCK, Matrices, PADDED};
    use simt::FindingKind;

    /// A launch whose destination rows all start at one address: two warps store to the same bytes.
    #[test]
    fn a_defect_is_an_error_of_the_launch() {
        let device = Simulated::new(Checks::ALL_UNTRACKED);
        let addresses = [(); 2].map(|()| device.allocate(64 * 64 * 4).unwrap());
        let launch = Launch {
            entry: entry(&PADDED, Width::B4).unwrap(),
            grid: [2, 2, 1],
            block: BLOCK,
            dynamic_shared_bytes: 0,
            blocks_per_multiprocessor: 0,
            cooperative: false,
            evict_last: false,
            offsets: [0, 0],
            params: Fields::of(&Matrices { rows: 64, cols: 64, src_ld: 64, dst_ld: 0 }),
        };
        // SAFETY: both allocations hold 64 × 64 elements, more than the launch touches.
        let error = unsafe { device.launch(&launch, addresses) }.unwrap_err();
        let message = error.to_string();
        match error {
            Error::KernelDefects { kernel: "padded_b4", findings } => {
                assert_eq!(findings[0].kind, FindingKind::GlobalWriteRace);
                assert!(message.contains("kernel `padded_b4`, PTX line "), "{message}");
            }
            other => panic!("{other}"),
        }
    }
}

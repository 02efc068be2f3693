//! The simulator as a device: the shipped PTX, executed on the CPU.

use super::Mark;
use super::backend::{Backend, Rows, Step, Urgency};
use super::host_memory::{HostMemory, Registered, Retired};
use crate::image::EntryPoint;
use crate::launch::Launch;
use crate::simulator::{self, DeviceId, Launched};
use crate::{Error, Facts, MemoryInfo, Result};
use simt::{Checks, Kernel, LaunchConfig, Memory, Options};
use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The memory that a simulated device has, in bytes.
const MEMORY_LIMIT: u64 = 16 << 30;

/// The blocks that wait for each other on one multiprocessor: so few that small matrices leave each of them several tiles.
const MOST_BLOCKS: usize = 2;

/// Bytes of shared memory that every block takes beside what it asks for.
const TAKEN: usize = 1 << 10;

/// A CPU that stands in for a GPU. Its work is done when a call returns, so every queue of it is the same.
pub(super) struct Simulated(Arc<Shared>);

/// What all queues share.
struct Shared {
    /// The memory of all devices that reach each other's.
    memory: Arc<Memory>,
    checks: Checks,
    facts: Facts,
    retired: Retired,
    /// Where memory is weak, the seed of the next launch.
    weak: Option<AtomicU64>,
}

impl Simulated {
    /// With memory that everyone sees alike, or weak memory from a seed.
    pub fn new(checks: Checks, weak: Option<u64>) -> Self {
        Self::with_memory(memory(MEMORY_LIMIT, checks), checks, weak)
    }

    /// Devices that reach each other's memory.
    pub fn peers(count: usize, checks: Checks) -> Vec<Self> {
        let memory = memory(MEMORY_LIMIT.saturating_mul(count as u64), checks);
        (0..count).map(|_| Self::with_memory(memory.clone(), checks, None)).collect()
    }

    fn with_memory(memory: Arc<Memory>, checks: Checks, weak: Option<u64>) -> Self {
        let facts = Facts { side_by_side: weak.is_some(), ..Facts::simulated() };
        let (retired, weak) = (Retired::default(), weak.map(AtomicU64::new));
        Simulated(Arc::new(Shared { memory, checks, facts, retired, weak }))
    }

    /// The memory of another simulated device; `None` for a GPU.
    fn memory_of(peer: &dyn Backend) -> Option<&Arc<Memory>> {
        peer.as_any().downcast_ref::<Self>().map(|peer| &peer.0.memory)
    }
}

/// Memory of so many bytes, for devices with such checks.
fn memory(limit: u64, checks: Checks) -> Arc<Memory> {
    let memory = Memory::new(limit);
    Arc::new(if checks.uninitialised_global { memory.tracking_initialised() } else { memory })
}

/// An entry point as the simulator runs it.
fn kernel(entry: EntryPoint) -> Result<&'static Kernel> {
    Ok(simulator::module(entry.image)?.kernel(entry.name)?)
}

impl Backend for Simulated {
    fn facts(&self) -> &Facts {
        &self.0.facts
    }

    fn is_gpu(&self) -> bool {
        false
    }

    fn side_by_side(&self, launch: &Launch) -> Result<Option<usize>> {
        let Facts { side_by_side, multiprocessors, multiprocessor_shared, .. } = self.0.facts;
        let fit = multiprocessor_shared / (launch.dynamic_shared_bytes as usize + TAKEN);
        Ok(side_by_side.then_some(multiprocessors * fit.min(MOST_BLOCKS)))
    }

    fn allocate(&self, bytes: u64) -> Result<u64> {
        self.0.memory.alloc(bytes).map_err(|error| match error {
            simt::Error::OutOfMemory { .. } => {
                Error::OutOfMemory { device: self.0.facts.name.clone(), bytes }
            }
            other => other.into(),
        })
    }

    unsafe fn free(&self, address: u64) {
        let freed = self.0.memory.free(address);
        debug_assert!(freed.is_ok(), "{freed:?}");
    }

    unsafe fn fill_zero(&self, address: u64, bytes: u64) -> Result<()> {
        Ok(self.0.memory.fill(address, 0, bytes)?)
    }

    unsafe fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<()> {
        Ok(self.0.memory.copy(dst, src, bytes)?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn reach(&self, peer: &dyn Backend) -> Result<bool> {
        Ok(Self::memory_of(peer).is_some_and(|memory| Arc::ptr_eq(memory, &self.0.memory)))
    }

    unsafe fn copy_to_peer(
        &self,
        peer: &dyn Backend,
        dst: u64,
        src: u64,
        bytes: u64,
    ) -> Result<()> {
        let Some(memory) = Self::memory_of(peer) else {
            let (src, dst) = (self.0.facts.name.clone(), peer.facts().name.clone());
            return Err(Error::DeviceMismatch { src, dst });
        };
        if Arc::ptr_eq(memory, &self.0.memory) {
            return Ok(memory.copy(dst, src, bytes)?);
        }
        let mut chunk = [0; 1 << 12];
        for start in (0..bytes).step_by(chunk.len()) {
            let chunk = &mut chunk[..(bytes - start).min(1 << 12) as usize];
            self.0.memory.read(src + start, chunk)?;
            memory.write(dst + start, chunk)?;
        }
        Ok(())
    }

    unsafe fn upload(&self, rows: Rows, host: &[u8]) -> Result<()> {
        for (row, bytes) in host.chunks_exact(rows.row_bytes).enumerate() {
            self.0.memory.write(rows.address + (row * rows.pitch) as u64, bytes)?;
        }
        Ok(())
    }

    unsafe fn download(&self, rows: Rows, host: &mut [u8]) -> Result<()> {
        for (row, bytes) in host.chunks_exact_mut(rows.row_bytes).enumerate() {
            self.0.memory.read(rows.address + (row * rows.pitch) as u64, bytes)?;
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
        let seed = self.0.weak.as_ref().map(|seed| seed.fetch_add(1, Relaxed));
        let mut options = Options::default().checks(self.0.checks).weak_memory(seed);
        let observer = simulator::observer(DeviceId(self.memory_id()));
        observer.iter().for_each(|observer| observer.prepare(&mut options));
        let code = kernel(entry)?;
        let code = observer.as_ref().map_or(code, |observer| observer.replace(code));
        let mut report = code.launch(&self.0.memory, &config, &arguments, &options)?;
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

    fn memory_info(&self) -> Result<MemoryInfo> {
        let total = self.0.memory.limit();
        Ok(MemoryInfo { free: total.saturating_sub(self.0.memory.in_use()), total })
    }

    fn cuda_ordinal(&self) -> Option<u32> {
        None
    }

    fn cuda_context(&self) -> Option<&cuda_driver::Context> {
        None
    }

    fn cuda_stream(&self) -> Option<*mut std::ffi::c_void> {
        None
    }

    unsafe fn upload_later(&self, rows: Rows, host: *const u8) -> Result<()> {
        for row in 0..rows.count {
            // SAFETY: the caller vouches for as many rows.
            let bytes = unsafe {
                std::slice::from_raw_parts(host.add(row * rows.host_pitch), rows.row_bytes)
            };
            self.0.memory.write(rows.address + (row * rows.pitch) as u64, bytes)?;
        }
        Ok(())
    }

    unsafe fn download_later(&self, rows: Rows, host: *mut u8) -> Result<()> {
        for row in 0..rows.count {
            // SAFETY: the caller vouches for as many rows, which nobody else uses.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(host.add(row * rows.host_pitch), rows.row_bytes)
            };
            self.0.memory.read(rows.address + (row * rows.pitch) as u64, bytes)?;
        }
        Ok(())
    }

    fn allocate_host(&self, bytes: usize, align: usize) -> Result<HostMemory> {
        HostMemory::ordinary(bytes, align)
    }

    unsafe fn register_host(&self, _: NonNull<u8>, _: usize) -> Result<Registered> {
        Ok(Registered::needless())
    }

    fn retired(&self) -> &Retired {
        &self.0.retired
    }

    unsafe fn graph(&self, _: &[Step]) -> Result<Option<cuda_driver::Graph>> {
        Ok(None)
    }

    unsafe fn replay(&self, _: &cuda_driver::Graph) -> Result<()> {
        unreachable!("the simulator makes no graphs")
    }

    fn memory_id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn new_queue(&self, _: Urgency) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Simulated(self.0.clone())))
    }

    unsafe fn borrowed_queue(&self, _: *mut c_void) -> Option<Arc<dyn Backend>> {
        None
    }

    unsafe fn wait_for_raw(&self, _: *mut c_void) -> Result<()> {
        Ok(())
    }

    unsafe fn raw_waits(&self, _: *mut c_void) -> Result<()> {
        Ok(())
    }

    fn mark(&self, _: bool) -> Result<Mark> {
        Ok(Mark::Passed)
    }

    fn record(&self, _: &Mark) -> Result<()> {
        Ok(())
    }

    fn wait(&self, mark: &Mark) -> Result<()> {
        mark.synchronize()
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
        let device = Simulated::new(Checks::ALL_UNTRACKED, None);
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

//! What the library queues on a device: copies, kernels, and several of them as one; the host memory that copies use, and marks between them.

use super::backend::{Rows, Step};
use super::host_memory::{HostMemory, Registered};
use super::{Device, Mark};
use crate::Result;
use crate::launch::Launch;
use crate::layout::Layout;
use bytemuck::Pod;
use std::ptr::NonNull;
use std::sync::Arc;

impl Device {
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
        if self.shares_memory_with(peer) {
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
}

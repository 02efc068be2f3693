//! Pages of host memory, looked up by kernels before copy engines need them.
//!
//! Copies of rows over the bus were measured to be slow behind kernels that move more than the L2 cache holds, and fast again where kernels
//! had read a word of each row before. What fits is that engines look up pages of host memory in tables that lie in device memory: where
//! the cache has the entries, rows are copied nearly as fast as whole memory; where it has not, engines wait for each row. Kernels look up
//! thousands of pages at a time, and leave the entries in the cache.

use super::kernel::{reached, turn};
use super::stretches::samples;
use crate::Result;
use crate::device::Device;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use bytemuck::Pod;

/// Bytes of device memory for what is read.
pub(super) const LOOK_UP: usize = 1 << 20;

/// Bytes of host memory of which one look-up is enough: their entries of the page tables are a line of the L2 cache.
const AT_ONCE: usize = 64 << 10;

/// Who looks pages up.
#[derive(Clone, Copy)]
pub(super) struct LookUp<'a> {
    stream: &'a Device,
    /// Where kernels put what they read, of [`LOOK_UP`] bytes.
    address: u64,
}

impl<'a> LookUp<'a> {
    /// By kernels in a stream, with [`LOOK_UP`] bytes of memory from `address` on.
    pub fn new(stream: &'a Device, address: u64) -> Self {
        LookUp { stream, address }
    }

    /// Queues a kernel that reads some of the elements of a host array, in the order of its memory, which copies of rows will read or write next.
    ///
    /// # Safety
    /// Until the stream's work is done, the elements can be read by the device from `host` on, and the memory for what is read is this one's alone.
    pub unsafe fn queue<T: Pod>(&self, ordered: &TensorLayout, host: *const T) -> Result<()> {
        let size = size_of::<T>();
        // Long rows have few pages that others have too; what is short is in the cache still.
        let pays = |samples: &TensorLayout| {
            samples.len() * size <= LOOK_UP && ordered.run() * size < AT_ONCE
        };
        let Some(samples) = samples(ordered, size, AT_ONCE)?.filter(pays) else { return Ok(()) };
        let here = TensorLayout::contiguous(samples.shape(), size)?;
        // SAFETY: samples are elements of the array; for the rest the caller vouches.
        unsafe {
            let there = TensorView::<T>::valid(self.stream, reached(host), samples);
            turn(there, TensorViewMut::valid(self.stream, self.address, here))
        }
    }
}

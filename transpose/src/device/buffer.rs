//! Device memory that belongs to a queue: given back when dropped, zeroed and copied within its bounds.

use super::deleter::Deleter;
use super::{Device, require_one_memory};
use crate::Result;

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

    /// Memory that a device has allocated, `bytes > 0` bytes.
    ///
    /// # Safety
    /// It came from [`Device::allocate`] of a handle to this queue, by way of [`take_allocated`](Self::take_allocated), and nobody else gives it back or uses it.
    pub(super) unsafe fn allocated(device: &Device, address: u64, bytes: u64) -> Self {
        Buffer { device: device.clone(), address, bytes, deleter: None }
    }

    /// Takes the address and the bytes of memory that the device has allocated, which is the caller's to give back. Of no bytes, which are left, nothing is.
    pub(super) fn take_allocated(&mut self) -> (u64, u64) {
        debug_assert!(self.is_of_device());
        (self.address, std::mem::take(&mut self.bytes))
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

impl Device {
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
}

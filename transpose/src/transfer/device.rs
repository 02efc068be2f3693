//! Copies from one device to another: between two GPUs by the driver, between a GPU and the simulator through host memory.

use super::host_memory;
use crate::Result;
use crate::device::{Buffer, Device, across};
use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::tensor::DeviceTensor;
use bytemuck::Pod;

/// Both kinds of array are copied in the same way.
macro_rules! copies_to_devices {
    ($array:ident) => {
        impl<T: Pod> $array<T> {
            /// An array on another device, or another stream, of the same layout and the same elements; what lies between them is the same too.
            ///
            /// What is queued on `device` from now on comes after the copy, and the copy after what is queued on the array's own device so far. Between a
            /// GPU and the simulator the elements go through host memory, and the call waits for them.
            /// [`move_to_stream`](Self::move_to_stream) hands memory to another stream of its device without a copy.
            ///
            /// ```
            /// use transpose::{Device, DeviceMatrix};
            /// # fn main() -> transpose::Result<()> {
            /// // On GPUs `Device::cuda(0)?` and `Device::cuda(1)?`.
            /// let (here, there) = (Device::simulated(), Device::simulated());
            /// let a = DeviceMatrix::from_host(&here, 2, 2, &[1u8, 2, 3, 4])?;
            /// let mut sum = DeviceMatrix::from_host(&there, 2, 2, &[10u8, 20, 30, 40])?;
            /// a.to_device(&there)?.add_transposed_to(1.0, 1.0, &mut sum)?;
            /// assert_eq!(sum.to_host()?, [11, 23, 32, 44]);
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::HostMemory`](crate::Error::HostMemory), and what the devices report.
            pub fn to_device(&self, device: &Device) -> Result<Self> {
                Ok(Self::of_buffer(copied(self.buffer(), device)?, self.layout().to_owned()))
            }
        }
    };
}

copies_to_devices!(DeviceMatrix);
copies_to_devices!(DeviceTensor);

/// A buffer of `there` with the bytes of another.
fn copied(src: &Buffer, there: &Device) -> Result<Buffer> {
    let (here, bytes) = (src.device(), src.bytes());
    let dst = there.allocate(bytes)?;
    let (from, to) = (src.address(), dst.address());
    if here.shares_memory_with(there) {
        // SAFETY: two live buffers of as many bytes, of one device, whose queues are in order.
        across(here, there, |device| unsafe { device.copy(from, to, bytes) })?;
    } else if here.is_gpu() == there.is_gpu() {
        // The memory is had in the order of its own queue.
        here.wait_for(there)?;
        // SAFETY: two live buffers of as many bytes, each of its device; the queues are in order before, and after by the mark below.
        let queued = unsafe { here.copy_to_peer(there, to, from, bytes) };
        // Also if nothing was queued: the buffer is given back in the order of its own queue.
        here.or_wait(there.wait_for(here))?;
        queued?;
    } else {
        let rows = Layout::contiguous(1, bytes, 1)?;
        let mut waiting = host_memory::<u8>(bytes)?;
        // SAFETY: the rows are all of a live buffer of as many bytes on either side.
        unsafe {
            here.download(from, &rows, &mut waiting)?;
            there.upload(to, &rows, &waiting)?;
        }
    }
    Ok(dst)
}

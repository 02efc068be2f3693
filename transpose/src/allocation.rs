//! Memory without a shape: how matrices and tensors are made of memory that other code has allocated, and are given away.

use crate::Result;
use crate::device::{Buffer, Device};
use crate::matrix::view::require_aligned;

/// What owned memory is aligned to, in bytes, on every device: kernels in place rely on it.
const ALIGNMENT: u64 = 256;

/// Memory of a [`Device`] that is given back when dropped: what a [`DeviceMatrix`](crate::DeviceMatrix) or a
/// [`DeviceTensor`](crate::DeviceTensor) owns.
///
/// `into_allocation` takes it out of either, and `from_allocation` makes either of it; nothing is copied. To give it to
/// code that frees by a callback, as C does, hand over the [`address`](Self::address) and keep the allocation itself, in a `Box`, as
/// the callback's context. [`from_raw`](Self::from_raw) takes memory that other code has allocated.
///
/// ```
/// use transpose::{Allocation, Device, DeviceMatrix, DeviceTensor, Layout, TensorLayout};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let matrix = DeviceMatrix::from_host(&device, 2, 3, &[1u8, 2, 3, 4, 5, 6])?;
/// let allocation: Allocation = matrix.into_allocation();
/// assert_eq!(allocation.bytes(), 6);
/// // The columns of the matrix, as rows of a tensor that owns its memory.
/// let layout = TensorLayout::strided(&[3, 2], &[1, 3], 0, 1)?;
/// let tensor = DeviceTensor::<u8>::from_allocation(allocation, layout)?;
/// assert_eq!(tensor.to_host()?, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Allocation {
    buffer: Buffer,
}

impl Allocation {
    /// The `bytes` bytes at `address`, which other code has allocated and `delete` gives back.
    ///
    /// `delete` is called once, when the allocation, or what was made of it, is dropped. Work that was queued on the device before may
    /// not be done then: `delete` frees the memory in the order of the device's queue ([`Device::cuda_stream`]), or waits for that
    /// with [`Device::synchronize`]. It must not panic.
    ///
    /// ```
    /// use transpose::{Allocation, Device, DeviceMatrix, Layout};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let theirs = DeviceMatrix::from_host(&device, 2, 2, &[1u32, 2, 3, 4])?;
    /// let (address, free) = (theirs.device_address(), move |_: &Device| drop(theirs));
    /// // SAFETY: `theirs` owns 16 bytes there, all of them written, and is used by nobody until `free` drops it.
    /// let allocation = unsafe { Allocation::from_raw(&device, address, 16, free)? };
    /// let matrix = DeviceMatrix::<u32>::from_allocation(allocation, Layout::contiguous(2, 2, 4)?)?;
    /// assert_eq!(matrix.transposed()?.to_host()?, [1, 3, 2, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Misaligned`](crate::Error::Misaligned) unless `address` is a multiple of 256 bytes, as what drivers
    /// allocate is; then `delete` is dropped without a call, and the memory is the caller's as before.
    ///
    /// # Safety
    /// - The bytes are one allocation, or part of one, in memory that kernels on the device reach (a `CUdeviceptr` if it is a GPU), and
    ///   stay allocated until `delete` is called.
    /// - They are initialized, by work that is ordered before this call on the device's queue, or by an event that it waits for.
    /// - Nothing else reads or writes them until `delete` is called, but through this library.
    /// - What `delete` does is sound on any thread, and takes no memory from work that is still queued on the device.
    pub unsafe fn from_raw(
        device: &Device,
        address: u64,
        bytes: usize,
        delete: impl FnOnce(&Device) + Send + 'static,
    ) -> Result<Self> {
        require_aligned(address, ALIGNMENT)?;
        Ok(Allocation { buffer: Buffer::of_others(device, address, bytes, delete) })
    }

    /// The address of the first byte: a `CUdeviceptr` if the device is a GPU. Of no bytes it is 0, or what [`from_raw`](Self::from_raw)
    /// was given.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.buffer.bytes()
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    pub(crate) fn of_buffer(buffer: Buffer) -> Self {
        Allocation { buffer }
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// How many elements of `T` there are; as many as one likes of no bytes.
    pub(crate) fn capacity<T>(&self) -> usize {
        self.bytes().checked_div(size_of::<T>()).unwrap_or(usize::MAX)
    }
}

//! Windows on a device matrix: what a transpose reads from and writes to.

use crate::device::Device;
use crate::layout::{Layout, shape_accessors};
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;

/// Elements in a device's memory, which are borrowed for `'a`: what windows are taken from.
#[derive(Debug)]
pub(crate) struct Memory<'a, T> {
    device: &'a Device,
    address: u64,
    /// How many elements there are.
    capacity: usize,
    element: PhantomData<&'a T>,
}

impl<'a, T> Memory<'a, T> {
    /// The `capacity` elements at `address`.
    ///
    /// # Safety
    /// - They lie inside memory of the device that stays allocated for `'a`, and its work in order behind all that is queued in it.
    /// - Nothing else writes them for `'a`, and where a [`MatrixViewMut`] is taken from them nothing else reads them either.
    pub unsafe fn new(device: &'a Device, address: u64, capacity: usize) -> Self {
        Memory { device, address, capacity, element: PhantomData }
    }

    /// The `len` elements at an address that comes from other code.
    ///
    /// # Errors
    /// [`Error::Misaligned`], and [`Error::SizeOverflow`] for memory that passes the end of what can be addressed.
    ///
    /// # Safety
    /// Those of [`new`](Self::new).
    pub unsafe fn of_others(device: &'a Device, address: u64, len: usize) -> Result<Self> {
        let element_bytes = size_of::<T>();
        require_aligned(address, alignment_of(element_bytes))?;
        len.checked_mul(element_bytes)
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .and_then(|bytes| address.checked_add(bytes as u64))
            .ok_or(Error::SizeOverflow { rows: 1, cols: len, ld: len, element_bytes })?;
        // SAFETY: the caller's obligations.
        Ok(unsafe { Self::new(device, address, len) })
    }

    /// The address of a window once it is known to lie inside, and the elements from there on.
    fn window(&self, offset: usize, layout: &Layout) -> Result<(u64, usize)> {
        let available = self.capacity;
        let end = offset.saturating_add(layout.extent());
        if end > available {
            let Layout { rows, cols, ld } = *layout;
            return Err(Error::WindowOutOfBounds { offset, rows, cols, ld, end, available });
        }
        let address = self.address + (offset * size_of::<T>()) as u64;
        Ok((address, available - offset))
    }
}

/// The bytes that elements of a size lie aligned to: the largest power of two, up to 16, that divides it; 1 for elements of no bytes.
pub(crate) fn alignment_of(element_bytes: usize) -> u64 {
    if element_bytes == 0 { 1 } else { 1 << element_bytes.trailing_zeros().min(4) }
}

/// Refuses an address that is not a multiple of `needed` bytes.
pub(crate) fn require_aligned(address: u64, needed: u64) -> Result<()> {
    if address.is_multiple_of(needed) {
        return Ok(());
    }
    Err(Error::Misaligned { address, needed })
}

/// A `rows × cols` window on a matrix that it borrows.
#[derive(Debug)]
pub struct MatrixView<'a, T> {
    pub(crate) device: &'a Device,
    pub(crate) address: u64,
    pub(crate) layout: Layout,
    /// Elements of the buffer from the window's first on.
    pub(crate) available: usize,
    element: PhantomData<&'a T>,
}

/// A `rows × cols` window on a matrix that it borrows exclusively.
#[derive(Debug)]
pub struct MatrixViewMut<'a, T> {
    pub(crate) device: &'a Device,
    pub(crate) address: u64,
    pub(crate) layout: Layout,
    /// Elements of the buffer from the window's first on.
    pub(crate) available: usize,
    element: PhantomData<&'a mut T>,
}

impl<T> Clone for MatrixView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatrixView<'_, T> {}

/// What both kinds of view tell about themselves.
macro_rules! view_accessors {
    ($view:ident) => {
        impl<'a, T> $view<'a, T> {
            shape_accessors!();

            /// The device that holds the elements.
            pub fn device(&self) -> &Device {
                self.device
            }

            /// The address of the first element on the device: a `CUdeviceptr` if the device is a GPU. See
            /// [`DeviceMatrix::device_address`](crate::DeviceMatrix::device_address).
            pub fn device_address(&self) -> u64 {
                self.address
            }

            /// The matrix of `layout`, `offset` elements into this one. What lies around and between its elements may be another view's:
            /// no batch reaches it.
            pub(crate) fn part(self, offset: usize, layout: Layout) -> Self {
                let available = layout.extent();
                assert!(offset + available <= self.available, "a part outside its matrix");
                let address = self.address + (offset * size_of::<T>()) as u64;
                $view { device: self.device, address, layout, available, element: PhantomData }
            }

            /// Two such matrices, which have no element in common.
            pub(crate) fn parts(
                self,
                first: (usize, Layout),
                second: (usize, Layout),
            ) -> (Self, Self) {
                let whole = || $view { element: PhantomData, ..self };
                (whole().part(first.0, first.1), whole().part(second.0, second.1))
            }
        }
    };
}

view_accessors!(MatrixView);
view_accessors!(MatrixViewMut);

impl<'a, T: Pod> MatrixView<'a, T> {
    /// The matrix of `layout` in memory that other code has: `len` elements from `address` on.
    ///
    /// The address is a `CUdeviceptr` if the device is a GPU: of memory that others have allocated, or of the host's that kernels
    /// reach. All `len` elements are the view's: batches reach behind the first matrix.
    ///
    /// # Errors
    /// [`Error::Misaligned`] unless `address` is a multiple of the largest power of two, up to 16, that divides the size of `T`,
    /// [`Error::WindowOutOfBounds`] for a layout of more than `len` elements, [`Error::SizeOverflow`].
    ///
    /// # Safety
    /// For `'a`, and until all that was queued on the device with the view is done:
    /// - The `len · size_of::<T>()` bytes at `address` stay allocated, in memory that kernels on the device reach, and are initialized.
    /// - Nothing writes them but work that is ordered before the view is made, on the device's queue
    ///   ([`Device::cuda_stream`]) or by an event that this queue waits for.
    pub unsafe fn from_raw_parts(
        device: &'a Device,
        address: u64,
        len: usize,
        layout: Layout,
    ) -> Result<Self> {
        let Layout { rows, cols, ld } = layout;
        // The layout may have been made for narrower elements.
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        // SAFETY: the caller's obligations.
        Self::window(unsafe { Memory::of_others(device, address, len)? }, 0, layout)
    }

    /// The matrix of `layout` at the start of `memory`, which holds it.
    pub(crate) fn whole(memory: Memory<'a, T>, layout: Layout) -> Self {
        let Memory { device, address, capacity: available, .. } = memory;
        assert!(layout.extent() <= available, "a matrix outside its memory");
        MatrixView { device, address, layout, available, element: PhantomData }
    }

    /// The window of `layout` that starts `offset` elements into `memory`.
    pub(crate) fn window(memory: Memory<'a, T>, offset: usize, layout: Layout) -> Result<Self> {
        let (address, available) = memory.window(offset, &layout)?;
        Ok(MatrixView { device: memory.device, address, layout, available, element: PhantomData })
    }
}

impl<'a, T: Pod> MatrixViewMut<'a, T> {
    /// The matrix of `layout` in memory that other code has: `len` elements from `address` on.
    ///
    /// The address is a `CUdeviceptr` if the device is a GPU: of memory that others have allocated, or of the host's that kernels
    /// reach. All `len` elements are the view's: batches reach behind the first matrix.
    ///
    /// # Errors
    /// [`Error::Misaligned`] unless `address` is a multiple of the largest power of two, up to 16, that divides the size of `T`,
    /// [`Error::WindowOutOfBounds`] for a layout of more than `len` elements, [`Error::SizeOverflow`].
    ///
    /// # Safety
    /// For `'a`, and until all that was queued on the device with the view is done:
    /// - The `len · size_of::<T>()` bytes at `address` stay allocated, in memory that kernels on the device reach, and are initialized.
    /// - Nothing reads or writes them but work that is ordered before the view is made, on the device's queue
    ///   ([`Device::cuda_stream`]) or by an event that this queue waits for.
    pub unsafe fn from_raw_parts(
        device: &'a Device,
        address: u64,
        len: usize,
        layout: Layout,
    ) -> Result<Self> {
        let Layout { rows, cols, ld } = layout;
        // The layout may have been made for narrower elements.
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        // SAFETY: the caller's obligations.
        Self::window(unsafe { Memory::of_others(device, address, len)? }, 0, layout)
    }

    /// The matrix of `layout` at the start of `memory`, which holds it.
    pub(crate) fn whole(memory: Memory<'a, T>, layout: Layout) -> Self {
        let Memory { device, address, capacity: available, .. } = memory;
        assert!(layout.extent() <= available, "a matrix outside its memory");
        MatrixViewMut { device, address, layout, available, element: PhantomData }
    }

    /// The window of `layout` that starts `offset` elements into `memory`, which is borrowed exclusively.
    pub(crate) fn window(memory: Memory<'a, T>, offset: usize, layout: Layout) -> Result<Self> {
        let (address, available) = memory.window(offset, &layout)?;
        let device = memory.device;
        Ok(MatrixViewMut { device, address, layout, available, element: PhantomData })
    }

    /// The same window, to read.
    pub fn view(&self) -> MatrixView<'_, T> {
        let MatrixViewMut { device, address, layout, available, .. } = *self;
        MatrixView { device, address, layout, available, element: PhantomData }
    }

    /// The same window for a shorter time.
    pub fn reborrow(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut { element: PhantomData, ..*self }
    }
}

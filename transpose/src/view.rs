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
        impl<T> $view<'_, T> {
            shape_accessors!();

            /// The device that holds the elements.
            pub fn device(&self) -> &Device {
                self.device
            }
        }
    };
}

view_accessors!(MatrixView);
view_accessors!(MatrixViewMut);

impl<'a, T: Pod> MatrixView<'a, T> {
    /// The matrix that is laid out so at `address` in the memory of `device`.
    ///
    /// The address is a `CUdeviceptr` if the device is a GPU: of memory that others have allocated, or of the host's that kernels
    /// reach.
    ///
    /// # Safety
    /// For `'a`, and until all that was queued on the device with the view is done:
    /// - The elements, and what lies between the rows, stay allocated, in memory that kernels on the device reach.
    /// - Nothing writes them but work that is queued on the device before the view is made.
    /// - They are initialized, the layout was made for elements of `T`'s size, and `address` is a multiple of the largest power of two, up to 16, that divides the size of `T`.
    pub unsafe fn from_raw_parts(device: &'a Device, address: u64, layout: Layout) -> Self {
        // SAFETY: the caller's obligations.
        Self::whole(unsafe { Memory::new(device, address, layout.extent()) }, layout)
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

    /// The elements, row by row, without what lies between the rows. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        let len = self.layout.len();
        let mut host = bytemuck::allocation::try_zeroed_vec(len)
            .map_err(|()| Error::HostMemory { bytes: len * size_of::<T>() })?;
        // SAFETY: a view's layout lies inside memory that is borrowed as long as the view.
        unsafe { self.device.download(self.address, &self.layout, &mut host)? };
        Ok(host)
    }
}

impl<'a, T: Pod> MatrixViewMut<'a, T> {
    /// The matrix that is laid out so at `address` in the memory of `device`.
    ///
    /// The address is a `CUdeviceptr` if the device is a GPU: of memory that others have allocated, or of the host's that kernels
    /// reach.
    ///
    /// # Safety
    /// For `'a`, and until all that was queued on the device with the view is done:
    /// - The elements, and what lies between the rows, stay allocated, in memory that kernels on the device reach.
    /// - Nothing reads or writes them but work that is queued on the device before the view is made.
    /// - They are initialized, the layout was made for elements of `T`'s size, and `address` is a multiple of the largest power of two, up to 16, that divides the size of `T`.
    pub unsafe fn from_raw_parts(device: &'a Device, address: u64, layout: Layout) -> Self {
        // SAFETY: the caller's obligations.
        Self::whole(unsafe { Memory::new(device, address, layout.extent()) }, layout)
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

    /// The same window for a shorter time.
    pub fn reborrow(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut { element: PhantomData, ..*self }
    }
}

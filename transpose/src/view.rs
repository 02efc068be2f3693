//! Windows on a device matrix: what a transpose reads from and writes to.

use crate::device::Device;
use crate::layout::{Layout, shape_accessors};
use crate::matrix::DeviceMatrix;
use crate::{Error, Result, Strategy};
use bytemuck::Pod;
use std::marker::PhantomData;

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
    /// The matrix at `address`, which must be inside memory that lives, and is not used
    /// otherwise, for `'a`.
    pub(crate) fn at(device: &'a Device, address: u64, layout: Layout) -> Self {
        let available = layout.extent();
        MatrixView { device, address, layout, available, element: PhantomData }
    }

    /// The whole of `matrix`.
    pub(crate) fn whole(matrix: &'a DeviceMatrix<T>) -> Self {
        MatrixView {
            device: matrix.device(),
            address: matrix.address(),
            layout: matrix.layout(),
            available: matrix.capacity(),
            element: PhantomData,
        }
    }

    /// The window of `layout` that starts `offset` elements into the buffer of `matrix`.
    pub(crate) fn window(
        matrix: &'a DeviceMatrix<T>,
        offset: usize,
        layout: Layout,
    ) -> Result<Self> {
        let address = window_address(matrix, offset, &layout)?;
        let available = matrix.capacity().saturating_sub(offset);
        Ok(MatrixView { device: matrix.device(), address, layout, available, element: PhantomData })
    }

    /// Transposes this window into `dst` by the fastest strategy known.
    ///
    /// # Errors
    /// As [`transpose_into_with`](Self::transpose_into_with).
    pub fn transpose_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.transpose_into_with(dst, Strategy::Auto)
    }

    /// Transposes this window into `dst` by the given strategy.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], [`Error::ElementSize`], [`Error::DeviceMismatch`], and what the
    /// device reports.
    pub fn transpose_into_with<'d>(
        &self,
        dst: impl Into<MatrixViewMut<'d, T>>,
        strategy: Strategy,
    ) -> Result<()>
    where
        T: 'd,
    {
        let mut dst = dst.into();
        crate::Plan::new(*self, dst.reborrow(), strategy)?.run(*self, dst)
    }

    /// Transposes a batch: this window and `dst` are its first matrices, and the others follow at
    /// the batch's strides in the memory that the windows are taken from.
    ///
    /// ```
    /// use transpose::{Batch, Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// // Two matrices of 2 × 3, one after the other.
    /// let device = Device::simulated();
    /// let host = [1u8, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16];
    /// let src = DeviceMatrix::from_host(&device, 4, 3, &host)?;
    /// let mut dst = DeviceMatrix::zeroed(&device, 6, 2)?;
    /// let batch = Batch { count: 2, src_stride: 6, dst_stride: 6 };
    /// src.window(0, 2, 3, 3)?.transpose_batched_into(dst.window_mut(0, 3, 2, 2)?, batch)?;
    /// assert_eq!(dst.to_host()?, [1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Plan::batched`](crate::Plan::batched) and [`Plan::run`](crate::Plan::run).
    pub fn transpose_batched_into<'d>(
        &self,
        dst: impl Into<MatrixViewMut<'d, T>>,
        batch: crate::Batch,
    ) -> Result<()>
    where
        T: 'd,
    {
        let mut dst = dst.into();
        crate::Plan::batched(*self, dst.reborrow(), batch)?.run(*self, dst)
    }

    /// The elements, row by row, without what lies between the rows. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        let len = self.layout.len();
        let mut host = bytemuck::allocation::try_zeroed_vec(len)
            .map_err(|()| Error::HostMemory { bytes: len * size_of::<T>() })?;
        self.device.download(self.address, &self.layout, &mut host)?;
        Ok(host)
    }

    pub(crate) fn same_device(&self, dst: &MatrixViewMut<'_, T>) -> Result<&'a Device> {
        if self.device.is_same(dst.device) {
            return Ok(self.device);
        }
        let (src, dst) = (self.device.to_string(), dst.device.to_string());
        Err(Error::DeviceMismatch { src, dst })
    }
}

impl<'a, T: Pod> MatrixViewMut<'a, T> {
    /// The matrix at `address`, which must be inside memory that lives, and is not used
    /// otherwise, for `'a`.
    pub(crate) fn at(device: &'a Device, address: u64, layout: Layout) -> Self {
        let available = layout.extent();
        MatrixViewMut { device, address, layout, available, element: PhantomData }
    }

    /// The whole of `matrix`.
    pub(crate) fn whole(matrix: &'a mut DeviceMatrix<T>) -> Self {
        MatrixViewMut {
            device: matrix.device(),
            address: matrix.address(),
            layout: matrix.layout(),
            available: matrix.capacity(),
            element: PhantomData,
        }
    }

    /// The window of `layout` that starts `offset` elements into the buffer of `matrix`.
    pub(crate) fn window(
        matrix: &'a mut DeviceMatrix<T>,
        offset: usize,
        layout: Layout,
    ) -> Result<Self> {
        let address = window_address(matrix, offset, &layout)?;
        let available = matrix.capacity().saturating_sub(offset);
        let device = matrix.device();
        Ok(MatrixViewMut { device, address, layout, available, element: PhantomData })
    }

    /// The same window for a shorter time.
    pub fn reborrow(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut { element: PhantomData, ..*self }
    }
}

impl<'a, T: Pod> From<&'a DeviceMatrix<T>> for MatrixView<'a, T> {
    fn from(matrix: &'a DeviceMatrix<T>) -> Self {
        MatrixView::whole(matrix)
    }
}

impl<'a, T: Pod> From<&'a mut DeviceMatrix<T>> for MatrixViewMut<'a, T> {
    fn from(matrix: &'a mut DeviceMatrix<T>) -> Self {
        MatrixViewMut::whole(matrix)
    }
}

/// The address of a window, once it is known to lie inside the matrix's buffer.
fn window_address<T: Pod>(matrix: &DeviceMatrix<T>, offset: usize, layout: &Layout) -> Result<u64> {
    let available = matrix.capacity();
    let end = offset.saturating_add(layout.extent());
    if end > available {
        let Layout { rows, cols, ld } = *layout;
        return Err(Error::WindowOutOfBounds { offset, rows, cols, ld, end, available });
    }
    Ok(matrix.address() + (offset * size_of::<T>()) as u64)
}

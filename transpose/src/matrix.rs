//! The matrix that owns its device memory.

use crate::device::{Buffer, Device};
use crate::layout::{Layout, shape_accessors};
use crate::view::{MatrixView, MatrixViewMut};
use crate::{Error, Result, Strategy};
use bytemuck::Pod;
use std::marker::PhantomData;

/// A row-major matrix in device memory.
///
/// Operations on it are queued on its [`Device`] in the order of the calls and may still run when
/// the call has returned. [`to_host`](Self::to_host) waits for them; dropping a matrix is allowed
/// at any time.
///
/// An element is any [`Pod`] type; it is moved as it is, bit for bit. A matrix whose elements have no bytes takes no memory on the
/// device: all operations succeed as on any other, and launch nothing.
#[derive(Debug)]
pub struct DeviceMatrix<T> {
    buffer: Buffer,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceMatrix<T> {
    /// A `rows × cols` matrix that holds `elements`, row by row.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are `rows * cols` elements,
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`], and what the device reports.
    pub fn from_host(device: &Device, rows: usize, cols: usize, elements: &[T]) -> Result<Self> {
        Self::from_host_with_ld(device, rows, cols, cols, elements)
    }

    /// Like [`from_host`](Self::from_host), the rows on the device `ld` elements apart. What
    /// lies between them, and behind the last one, is zero.
    ///
    /// # Errors
    /// As [`from_host`](Self::from_host), and [`Error::LeadingDimension`] if `ld < cols`.
    pub fn from_host_with_ld(
        device: &Device,
        rows: usize,
        cols: usize,
        ld: usize,
        elements: &[T],
    ) -> Result<Self> {
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        if elements.len() != layout.len() {
            let (expected, actual) = (layout.len(), elements.len());
            return Err(Error::LengthMismatch { rows, cols, expected, actual });
        }
        // Windows reach what lies between the rows and behind the last.
        let matrix = if layout.capacity() == layout.len() {
            Self::uninitialized(device, layout)?
        } else {
            Self::zeroed_with_ld(device, rows, cols, ld)?
        };
        device.upload(matrix.address(), &layout, elements)?;
        Ok(matrix)
    }

    /// A `rows × cols` matrix of zero bytes.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`], and what the device reports.
    pub fn zeroed(device: &Device, rows: usize, cols: usize) -> Result<Self> {
        Self::zeroed_with_ld(device, rows, cols, cols)
    }

    /// Like [`zeroed`](Self::zeroed), with rows `ld` elements apart.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed), and [`Error::LeadingDimension`] if `ld < cols`.
    pub fn zeroed_with_ld(device: &Device, rows: usize, cols: usize, ld: usize) -> Result<Self> {
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        let matrix = Self::uninitialized(device, layout)?;
        device.fill_zero(&matrix.buffer)?;
        Ok(matrix)
    }

    /// A matrix whose elements are whatever its memory held.
    fn uninitialized(device: &Device, layout: Layout) -> Result<Self> {
        let bytes = layout.capacity() * size_of::<T>();
        Ok(DeviceMatrix { buffer: device.allocate(bytes)?, layout, element: PhantomData })
    }

    /// The elements, row by row, without what lies between the rows. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.view().to_host()
    }

    /// Like [`to_host`](Self::to_host), into memory that is already there.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless the slice has as many elements, and what the device reports.
    pub fn copy_to_host(&self, elements: &mut [T]) -> Result<()> {
        self.check_length(elements.len())?;
        self.device().download(self.address(), &self.layout, elements)
    }

    /// Replaces the elements, row by row, by those of the slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many, and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        self.check_length(elements.len())?;
        self.device().upload(self.address(), &self.layout, elements)
    }

    fn check_length(&self, actual: usize) -> Result<()> {
        let (rows, cols) = self.shape();
        let expected = self.layout.len();
        if actual == expected {
            return Ok(());
        }
        Err(Error::LengthMismatch { rows, cols, expected, actual })
    }

    /// The transposed matrix, by the fastest strategy known.
    ///
    /// # Errors
    /// As [`transposed_with`](Self::transposed_with).
    pub fn transposed(&self) -> Result<Self> {
        self.transposed_with(Strategy::Auto)
    }

    /// The transposed matrix, by the given strategy.
    ///
    /// # Errors
    /// [`Error::ElementSize`], [`Error::OutOfMemory`], and what the device reports.
    pub fn transposed_with(&self, strategy: Strategy) -> Result<Self> {
        let layout = Layout::contiguous(self.ncols(), self.nrows(), size_of::<T>())?;
        let mut dst = Self::uninitialized(self.device(), layout)?;
        self.transpose_into_with(&mut dst, strategy)?;
        Ok(dst)
    }

    /// Transposes into `dst`, a matrix or a window on one, by the fastest strategy known.
    ///
    /// A matrix cannot be its own destination:
    ///
    /// ```compile_fail,E0502
    /// # use transpose::{Device, DeviceMatrix};
    /// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 4, 4).unwrap();
    /// a.transpose_into(&mut a);
    /// ```
    ///
    /// # Errors
    /// As [`transpose_into_with`](Self::transpose_into_with).
    pub fn transpose_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.view().transpose_into(dst)
    }

    /// Transposes into `dst`, a matrix or a window on one, by the given strategy.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `dst` is `ncols × nrows`, [`Error::ElementSize`],
    /// [`Error::DeviceMismatch`], and what the device reports.
    pub fn transpose_into_with<'d>(
        &self,
        dst: impl Into<MatrixViewMut<'d, T>>,
        strategy: Strategy,
    ) -> Result<()>
    where
        T: 'd,
    {
        self.view().transpose_into_with(dst, strategy)
    }

    /// The whole matrix as a view.
    pub fn view(&self) -> MatrixView<'_, T> {
        MatrixView::whole(self)
    }

    /// The whole matrix as an exclusive view.
    pub fn view_mut(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut::whole(self)
    }

    /// A `rows × cols` window on this matrix's memory, from its element `offset` on, with rows
    /// `ld` elements apart. It may reach into what lies between the matrix's own rows.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`], [`Error::SizeOverflow`] and [`Error::WindowOutOfBounds`].
    pub fn window(
        &self,
        offset: usize,
        rows: usize,
        cols: usize,
        ld: usize,
    ) -> Result<MatrixView<'_, T>> {
        MatrixView::window(self, offset, Layout::new(rows, cols, ld, size_of::<T>())?)
    }

    /// Like [`window`](Self::window), exclusive.
    ///
    /// # Errors
    /// As [`window`](Self::window).
    pub fn window_mut(
        &mut self,
        offset: usize,
        rows: usize,
        cols: usize,
        ld: usize,
    ) -> Result<MatrixViewMut<'_, T>> {
        MatrixViewMut::window(self, offset, Layout::new(rows, cols, ld, size_of::<T>())?)
    }

    shape_accessors!();

    /// The device that holds the elements.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// The address of the first element on the device: a `CUdeviceptr` if the device is a GPU.
    ///
    /// The address is valid as long as the matrix lives. What other code does with it is for that
    /// code to answer for.
    pub fn device_address(&self) -> u64 {
        self.address()
    }

    /// Gives the same memory another shape.
    pub(crate) fn reshape(&mut self, layout: Layout) {
        debug_assert!(layout.extent() <= self.capacity());
        self.layout = layout;
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// The elements that the buffer holds, what lies between the rows included.
    pub(crate) fn capacity(&self) -> usize {
        self.layout.capacity()
    }
}

//! The matrix that owns its device memory.

use super::view::{MatrixView, MatrixViewMut, Memory};
use crate::allocation::Allocation;
use crate::device::{Buffer, Device};
use crate::layout::{Layout, shape_accessors};
use crate::{Error, Result};
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
///
/// ```
/// use transpose::{Device, DeviceMatrix};
/// # fn main() -> transpose::Result<()> {
/// let (device, _why_no_gpu) = Device::any();
/// // 2 × 3, rows 4 elements apart.
/// let a = DeviceMatrix::from_host_with_ld(&device, 2, 3, 4, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!((a.nrows(), a.ncols(), a.ld()), (2, 3, 4));
/// let mut b = DeviceMatrix::zeroed(&device, 3, 2)?;
/// a.transpose_into(&mut b)?;
/// assert_eq!(b.to_host()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceMatrix<T> {
    buffer: Buffer,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceMatrix<T> {
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
    pub(crate) fn uninitialized(device: &Device, layout: Layout) -> Result<Self> {
        let bytes = layout.capacity() * size_of::<T>();
        Ok(DeviceMatrix { buffer: device.allocate(bytes)?, layout, element: PhantomData })
    }

    /// The matrix of `layout` at the start of `allocation`, which it owns from now on.
    ///
    /// # Errors
    /// [`Error::WindowOutOfBounds`] for an allocation that is shorter than all rows, what lies behind the last one included
    /// (`rows · ld` elements), and [`Error::SizeOverflow`]; with either the allocation is dropped.
    pub fn from_allocation(allocation: Allocation, layout: Layout) -> Result<Self> {
        let Layout { rows, cols, ld } = layout;
        // The layout may have been made for narrower elements.
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        let (end, available) = (layout.capacity(), allocation.capacity::<T>());
        if end > available {
            return Err(Error::WindowOutOfBounds { offset: 0, rows, cols, ld, end, available });
        }
        Ok(Self::of_buffer(allocation.into_buffer(), layout))
    }

    /// The matrix's memory, for other code or for another shape. Its first element is the first of the memory.
    pub fn into_allocation(self) -> Allocation {
        Allocation::of_buffer(self.buffer)
    }

    /// The whole matrix as a view.
    pub fn view(&self) -> MatrixView<'_, T> {
        self.into()
    }

    /// The whole matrix as an exclusive view.
    pub fn view_mut(&mut self) -> MatrixViewMut<'_, T> {
        self.into()
    }

    /// A `rows × cols` window on this matrix's memory, from its element `offset` on, with rows
    /// `ld` elements apart. It may reach into what lies between the matrix's own rows.
    ///
    /// With the matrix's own leading dimension that is a part of the matrix, which [`submatrix`](Self::submatrix) gives by rows and
    /// columns; with any other, the memory is seen as another matrix.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`], [`Error::SizeOverflow`], [`Error::WindowOutOfBounds`], and [`Error::WindowWraps`] for columns that
    /// pass the end of the matrix's rows, if `ld` is the matrix's own.
    pub fn window(
        &self,
        offset: usize,
        rows: usize,
        cols: usize,
        ld: usize,
    ) -> Result<MatrixView<'_, T>> {
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        let window = MatrixView::window(self.memory(), offset, layout)?;
        self.require_within_rows(offset, &layout).map(|()| window)
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
        let layout = Layout::new(rows, cols, ld, size_of::<T>())?;
        let window = MatrixViewMut::window(self.memory(), offset, layout)?;
        self.require_within_rows(offset, &layout).map(|()| window)
    }

    /// Refuses a window with this matrix's leading dimension that passes the end of a row.
    fn require_within_rows(&self, offset: usize, window: &Layout) -> Result<()> {
        let Layout { cols, ld, .. } = *window;
        // A row of elements is not empty, so that `ld` is not 0.
        if ld != self.layout.ld || window.is_empty() || cols <= ld - offset % ld {
            return Ok(());
        }
        Err(Error::WindowWraps { column: offset % ld, cols, ld })
    }

    shape_accessors!();

    /// The device that holds the elements.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// The address of the first element on the device: a `CUdeviceptr` if the device is a GPU.
    ///
    /// The memory is given and taken back in the order of the device's queue: work on another stream is ordered, by an
    /// event, after what made the matrix, and is done before the matrix is dropped. What other code does with the
    /// address is for that code to answer for.
    pub fn device_address(&self) -> u64 {
        self.address()
    }

    /// Gives the same memory another shape.
    pub(crate) fn set_layout(&mut self, layout: Layout) {
        debug_assert!(layout.extent() <= self.capacity());
        self.layout = layout;
    }

    /// The memory that windows on the matrix lie in. For a window that is written the matrix must be borrowed exclusively.
    pub(super) fn memory(&self) -> Memory<'_, T> {
        // SAFETY: the buffer lives as long as the matrix and holds as many elements. The matrix is borrowed as long as the views, by
        // those that write exclusively, so that nothing else queues writes to it.
        unsafe { Memory::new(self.device(), self.address(), self.capacity()) }
    }

    /// The matrix that `buffer`, which is long enough, holds.
    pub(crate) fn of_buffer(buffer: Buffer, layout: Layout) -> Self {
        debug_assert!(layout.capacity() * size_of::<T>() <= buffer.bytes());
        DeviceMatrix { buffer, layout, element: PhantomData }
    }

    /// The matrix's memory.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    pub(crate) fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// The elements that the buffer holds, what lies between the rows included.
    pub(crate) fn capacity(&self) -> usize {
        self.layout.capacity()
    }
}

impl<'a, T: Pod> From<&'a DeviceMatrix<T>> for MatrixView<'a, T> {
    fn from(matrix: &'a DeviceMatrix<T>) -> Self {
        MatrixView::whole(matrix.memory(), matrix.layout)
    }
}

impl<'a, T: Pod> From<&'a mut DeviceMatrix<T>> for MatrixViewMut<'a, T> {
    fn from(matrix: &'a mut DeviceMatrix<T>) -> Self {
        MatrixViewMut::whole(matrix.memory(), matrix.layout)
    }
}

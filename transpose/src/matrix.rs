//! The matrix that owns its device memory.

use crate::device::{Buffer, Device};
use crate::layout::{Layout, shape_accessors};
use crate::view::{MatrixView, MatrixViewMut, Memory};
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
        let mut matrix = if layout.capacity() == layout.len() {
            Self::uninitialized(device, layout)?
        } else {
            Self::zeroed_with_ld(device, rows, cols, ld)?
        };
        matrix.upload(elements)?;
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
    pub(crate) fn uninitialized(device: &Device, layout: Layout) -> Result<Self> {
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
        // SAFETY: the layout lies inside the matrix's own buffer.
        unsafe { self.device().download(self.address(), &self.layout, elements) }
    }

    /// Replaces the elements, row by row, by those of the slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many, and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        self.check_length(elements.len())?;
        self.upload(elements)
    }

    /// Replaces the elements by as many others.
    fn upload(&mut self, elements: &[T]) -> Result<()> {
        // SAFETY: the layout lies inside the matrix's own buffer.
        unsafe { self.device().upload(self.address(), &self.layout, elements) }
    }

    fn check_length(&self, actual: usize) -> Result<()> {
        let (rows, cols) = self.shape();
        let expected = self.layout.len();
        if actual == expected {
            return Ok(());
        }
        Err(Error::LengthMismatch { rows, cols, expected, actual })
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
    /// # Errors
    /// [`Error::LeadingDimension`], [`Error::SizeOverflow`] and [`Error::WindowOutOfBounds`].
    pub fn window(
        &self,
        offset: usize,
        rows: usize,
        cols: usize,
        ld: usize,
    ) -> Result<MatrixView<'_, T>> {
        MatrixView::window(self.memory(), offset, Layout::new(rows, cols, ld, size_of::<T>())?)
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
        MatrixViewMut::window(self.memory(), offset, Layout::new(rows, cols, ld, size_of::<T>())?)
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
    pub(crate) fn reshape(&mut self, layout: Layout) {
        debug_assert!(layout.extent() <= self.capacity());
        self.layout = layout;
    }

    /// The memory that windows on the matrix lie in. For a window that is written the matrix must be borrowed exclusively.
    fn memory(&self) -> Memory<'_, T> {
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

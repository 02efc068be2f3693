//! The methods that copy matrices from and to the host, and that fill and clone them.

use super::host_memory;
use crate::device::Device;
use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

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
        require_len(&layout, layout.len(), elements.len())?;
        // Windows reach what lies between the rows and behind the last.
        let mut matrix = if layout.capacity() == layout.len() {
            Self::uninitialized(device, layout)?
        } else {
            Self::zeroed_with_ld(device, rows, cols, ld)?
        };
        matrix.copy_from_host(elements)?;
        Ok(matrix)
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
        self.view().copy_to_host(elements)
    }

    /// Like [`copy_to_host`](Self::copy_to_host), into rows that are `ld` elements apart; what lies between them stays.
    ///
    /// # Errors
    /// As [`MatrixView::copy_to_host_with_ld`].
    pub fn copy_to_host_with_ld(&self, elements: &mut [T], ld: usize) -> Result<()> {
        self.view().copy_to_host_with_ld(elements, ld)
    }

    /// Replaces the elements, row by row, by those of the slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many, and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        self.view_mut().copy_from_host(elements)
    }

    /// Like [`copy_from_host`](Self::copy_from_host), from rows that are `ld` elements apart.
    ///
    /// # Errors
    /// As [`MatrixViewMut::copy_from_host_with_ld`].
    pub fn copy_from_host_with_ld(&mut self, elements: &[T], ld: usize) -> Result<()> {
        self.view_mut().copy_from_host_with_ld(elements, ld)
    }

    /// Gives every element one value; what lies between the rows stays.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.view_mut().fill(value)
    }

    /// A matrix of its own of the same layout and the same elements; what lies between its rows is the same too.
    ///
    /// There is no `Clone`: memory may be lacking.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn try_clone(&self) -> Result<Self> {
        let clone = Self::uninitialized(self.device(), self.layout())?;
        let bytes = self.capacity() * size_of::<T>();
        // SAFETY: both buffers hold as many bytes, and are two.
        unsafe { self.device().copy(self.address(), clone.address(), bytes)? };
        Ok(clone)
    }
}

impl<T: Pod> MatrixView<'_, T> {
    /// The elements, row by row, without what lies between the rows. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        let mut elements = host_memory(self.layout.len())?;
        self.copy_to_host(&mut elements)?;
        Ok(elements)
    }

    /// Like [`to_host`](Self::to_host), into memory that is already there.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless the slice has as many elements, and what the device reports.
    pub fn copy_to_host(&self, elements: &mut [T]) -> Result<()> {
        require_len(&self.layout, self.layout.len(), elements.len())?;
        // SAFETY: a view's layout lies inside memory that is borrowed as long as the view.
        unsafe { self.device.download(self.address, &self.layout, elements) }
    }

    /// Like [`copy_to_host`](Self::copy_to_host), into rows that are `ld` elements apart; what lies between them stays.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`], [`Error::SizeOverflow`], [`Error::LengthMismatch`] unless the slice ends with the last row or later,
    /// [`Error::HostMemory`], and what the device reports.
    pub fn copy_to_host_with_ld(&self, elements: &mut [T], ld: usize) -> Result<()> {
        let layout = host_layout::<T>(&self.layout, ld, elements.len())?;
        TensorView::from(*self).copy_to_host_strided(elements, &layout)
    }

    /// A matrix of its own with the same elements, without gaps.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn to_matrix(&self) -> Result<DeviceMatrix<T>> {
        let layout = Layout::contiguous(self.nrows(), self.ncols(), size_of::<T>())?;
        let mut matrix = DeviceMatrix::uninitialized(self.device, layout)?;
        self.copy_into(&mut matrix)?;
        Ok(matrix)
    }
}

impl<T: Pod> MatrixViewMut<'_, T> {
    /// The elements, row by row, without what lies between the rows. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.view().to_host()
    }

    /// Replaces the elements, row by row, by those of the slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many, and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        require_len(&self.layout, self.layout.len(), elements.len())?;
        // SAFETY: a view's layout lies inside memory that is borrowed exclusively as long as the view.
        unsafe { self.device.upload(self.address, &self.layout, elements) }
    }

    /// Like [`copy_from_host`](Self::copy_from_host), from rows that are `ld` elements apart.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let mut a = DeviceMatrix::<u8>::zeroed(&Device::simulated(), 2, 3)?;
    /// a.view_mut().copy_from_host_with_ld(&[1, 2, 3, 0, 0, 4, 5, 6], 5)?;
    /// assert_eq!(a.to_host()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::LeadingDimension`], [`Error::SizeOverflow`], [`Error::LengthMismatch`] unless the slice ends with the last row or later,
    /// [`Error::HostMemory`], and what the device reports.
    pub fn copy_from_host_with_ld(&mut self, elements: &[T], ld: usize) -> Result<()> {
        let layout = host_layout::<T>(&self.layout, ld, elements.len())?;
        TensorViewMut::from(self.reborrow()).copy_from_host_strided(elements, &layout)
    }

    /// Gives every element one value; what lies between the rows stays.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn fill(&mut self, value: T) -> Result<()> {
        TensorViewMut::from(self.reborrow()).fill(value)
    }
}

/// Where the rows of a matrix lie in a slice of `actual` elements if they are `ld` apart there.
fn host_layout<T>(matrix: &Layout, ld: usize, actual: usize) -> Result<TensorLayout> {
    let layout = Layout::new(matrix.nrows(), matrix.ncols(), ld, size_of::<T>())?;
    require_len(&layout, layout.extent(), actual.min(layout.extent()))?;
    let ld = if layout.nrows() > 1 { ld as isize } else { 1 };
    TensorLayout::strided(&[matrix.nrows(), matrix.ncols()], &[ld, 1], 0, size_of::<T>())
}

/// Refuses a slice of another length than a matrix needs.
fn require_len(layout: &Layout, expected: usize, actual: usize) -> Result<()> {
    let (rows, cols) = layout.shape();
    if actual == expected {
        return Ok(());
    }
    Err(Error::LengthMismatch { rows, cols, expected, actual })
}

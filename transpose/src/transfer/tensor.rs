//! The methods that copy tensors from and to the host, and that fill and clone them.

use super::{Constants, download, host_memory, upload};
use crate::device::Device;
use crate::divide::gcd;
use crate::plan::VECTOR;
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

impl<T: Pod> DeviceTensor<T> {
    /// A tensor of `shape` that holds `elements`, in row-major order.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are as many as the shape has, [`Error::TooManyAxes`], [`Error::TensorSizeOverflow`],
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn from_host(device: &Device, shape: &[usize], elements: &[T]) -> Result<Self> {
        let layout = TensorLayout::contiguous(shape, size_of::<T>())?;
        require_len(shape, elements.len())?;
        Self::from_host_strided(device, elements, &layout)
    }

    /// A tensor that holds those of `elements` that `layout` names; on the device they have no gaps. The layout's offset counts from the
    /// slice's start.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor, TensorLayout};
    /// # fn main() -> transpose::Result<()> {
    /// // Two rows of three elements, five apart.
    /// let host = [1u8, 2, 3, 0, 0, 4, 5, 6];
    /// let rows = TensorLayout::strided(&[2, 3], &[5, 1], 0, 1)?;
    /// let tensor = DeviceTensor::from_host_strided(&Device::simulated(), &host, &rows)?;
    /// assert_eq!(tensor.to_host()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the slice has not, [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn from_host_strided(
        device: &Device,
        elements: &[T],
        layout: &TensorLayout,
    ) -> Result<Self> {
        layout.require_within(elements.len())?;
        let mut tensor = Self::uninitialized(device, layout.shape())?;
        tensor.view_mut().copy_from_host_strided(elements, layout)?;
        Ok(tensor)
    }

    /// The elements, in row-major order. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.view().to_host()
    }

    /// Like [`to_host`](Self::to_host), into memory that is already there.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless the slice has as many elements, and what the device reports.
    pub fn copy_to_host(&self, elements: &mut [T]) -> Result<()> {
        self.view().copy_to_host(elements)
    }

    /// Replaces the elements by those of the slice, in row-major order.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are as many, and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        self.view_mut().copy_from_host(elements)
    }

    /// Gives every element one value. The work is queued; values of more than 4 KiB are waited for.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.view_mut().fill(value)
    }

    /// A tensor of its own of the same shape and the same elements, without gaps.
    ///
    /// There is no `Clone`: memory may be lacking.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn try_clone(&self) -> Result<Self> {
        self.view().to_tensor()
    }
}

impl<T: Pod> TensorView<'_, T> {
    /// The elements, in row-major order. Waits for queued work.
    ///
    /// Elements that do not lie together are brought together on the device first, in memory that is given back after.
    ///
    /// # Errors
    /// [`Error::HostMemory`], [`Error::OutOfMemory`], [`Error::TensorSizeOverflow`] for a broadcast of more elements than can be addressed, and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        // A broadcast may have more elements than can be addressed.
        TensorLayout::contiguous(self.shape(), size_of::<T>())?;
        let mut elements = host_memory(self.len())?;
        self.copy_to_host(&mut elements)?;
        Ok(elements)
    }

    /// Like [`to_host`](Self::to_host), into memory that is already there.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless the slice has as many elements, [`Error::OutOfMemory`], and what the device reports.
    pub fn copy_to_host(&self, elements: &mut [T]) -> Result<()> {
        require_len(self.shape(), elements.len())?;
        let layout = TensorLayout::contiguous(self.shape(), size_of::<T>())?;
        self.copy_to_host_strided(elements, &layout)
    }

    /// Copies the elements to those of the slice that `layout`, which has the same shape, names; what lies between them stays.
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the slice has not, [`Error::TensorShapeMismatch`], [`Error::TensorOverlap`] for a
    /// layout in which an element has two indices, [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn copy_to_host_strided(&self, elements: &mut [T], layout: &TensorLayout) -> Result<()> {
        layout.require_within(elements.len())?;
        // SAFETY: all elements of the layout lie inside the slice.
        unsafe { download(*self, elements.as_mut_ptr(), layout) }
    }
}

impl<T: Pod> TensorViewMut<'_, T> {
    /// The elements, in row-major order. Waits for queued work.
    ///
    /// # Errors
    /// As [`TensorView::to_host`].
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.view().to_host()
    }

    /// Replaces the elements by those of the slice, in row-major order.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are as many, [`Error::OutOfMemory`], and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        require_len(self.shape(), elements.len())?;
        let layout = TensorLayout::contiguous(self.shape(), size_of::<T>())?;
        self.copy_from_host_strided(elements, &layout)
    }

    /// Replaces the elements by those of the slice that `layout`, which has the same shape, names.
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the slice has not, [`Error::TensorShapeMismatch`], [`Error::OutOfMemory`],
    /// [`Error::HostMemory`], and what the device reports.
    pub fn copy_from_host_strided(&mut self, elements: &[T], layout: &TensorLayout) -> Result<()> {
        layout.require_within(elements.len())?;
        // SAFETY: all elements of the layout lie inside the slice.
        unsafe { upload(self.reborrow(), elements.as_ptr(), layout) }
    }

    /// Gives every element one value. The work is queued; values of more than 4 KiB are waited for.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn fill(&mut self, value: T) -> Result<()> {
        let (device, len, by_vectors) = (self.device, self.len(), self.fill_vectors(value)?);
        let rest = match by_vectors {
            0 => self.reborrow(),
            some => self.reborrow().reshape(&[len])?.slice(0, some.., 1)?,
        };
        if rest.is_empty() {
            return Ok(());
        }
        let one = Constants::new(device, vec![value])?;
        one.view()?.index_axis(0, 0)?.broadcast(rest.shape())?.copy_into(rest)
    }

    /// Fills as many elements from the first on as whole vectors have, and says how many: none unless they lie together and start on one. Words of one byte by
    /// themselves take four times as long, those of 8 bytes no longer.
    fn fill_vectors(&mut self, value: T) -> Result<usize> {
        /// The most bytes of vectors that elements end with.
        const MOST: usize = 1 << 10;
        let size = size_of::<T>();
        let starts = self.device_address().is_multiple_of(VECTOR as u64);
        if size.is_multiple_of(size_of::<u64>()) || !starts || !self.is_contiguous() {
            return Ok(0);
        }
        let bytes = size / gcd(size, VECTOR) * VECTOR;
        let (len, each) = (self.len(), bytes / size);
        let units = len / each;
        if units == 0 || bytes > MOST {
            return Ok(0);
        }
        let pattern = bytemuck::pod_collect_to_vec::<T, [u8; VECTOR]>(&vec![value; each]);
        let pattern = Constants::new(self.device, pattern)?;
        let whole = [units, bytes / VECTOR];
        let flat = self.reborrow().reshape(&[len])?;
        let vectors = flat.slice(0, ..units * each, 1)?.cast::<[u8; VECTOR]>()?.reshape(&whole)?;
        pattern.view()?.broadcast(&whole)?.copy_into(vectors)?;
        Ok(units * each)
    }
}

/// Refuses a slice that has not as many elements as a shape.
pub(crate) fn require_len(shape: &[usize], actual: usize) -> Result<()> {
    let expected = shape.iter().product();
    if actual == expected {
        return Ok(());
    }
    Err(Error::TensorLength { shape: shape.to_vec(), expected, actual })
}

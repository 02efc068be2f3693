//! Arrays of [`ndarray`](https://docs.rs/ndarray), of any rank, order and stride, into and out of a device's memory.
//!
//! An array is walked once, in the order of its memory: nothing is made contiguous on the host first if its elements lie together in
//! any order of axes, and the device permutes. What lies between the elements of a view is neither read nor written.

use crate::device::Device;
use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::MatrixView;
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut};
use crate::transfer::{download, upload};
use crate::{Error, Result};
use bytemuck::Pod;
use ndarray::{Array, Array2, ArrayBase, Data, DataMut, Dimension, Ix2, IxDyn};

/// An array's layout in the memory from its lowest element on, and how many elements that is before element `[0, …, 0]`.
fn layout_of<T>(shape: &[usize], strides: &[isize]) -> Result<(TensorLayout, usize)> {
    let axes = shape.iter().zip(strides);
    let below = axes
        .filter(|&(&length, &stride)| length > 1 && stride < 0)
        .map(|(length, stride)| (length - 1) * stride.unsigned_abs())
        .sum();
    let below = if shape.contains(&0) { 0 } else { below };
    Ok((TensorLayout::strided(shape, strides, below, size_of::<T>())?, below))
}

impl<T: Pod> DeviceTensor<T> {
    /// The elements of an array, or of a view of one, row-major on the device whatever the array's order is. Feature `ndarray`.
    ///
    /// ```
    /// use ndarray::{Array3, Ix3, s};
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as u16);
    /// let part = array.slice(s![.., ..;-1, 1..]);
    /// let tensor = DeviceTensor::from_ndarray(&device, &part)?;
    /// assert_eq!(tensor.shape(), [2, 3, 3]);
    /// let turned = tensor.permuted(&[2, 0, 1])?.to_ndarray::<Ix3>()?;
    /// assert_eq!(turned, part.permuted_axes([2, 0, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyAxes`], [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn from_ndarray<S, D>(device: &Device, array: &ArrayBase<S, D>) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        let mut tensor = Self::uninitialized(device, array.shape())?;
        tensor.view_mut().copy_from_ndarray(array)?;
        Ok(tensor)
    }

    /// The elements as an array in row-major order. Waits for queued work. Feature `ndarray`.
    ///
    /// # Errors
    /// As [`TensorView::to_ndarray`].
    pub fn to_ndarray<D: Dimension>(&self) -> Result<Array<T, D>> {
        self.view().to_ndarray()
    }
}

impl<T: Pod> TensorView<'_, T> {
    /// The elements as an array in row-major order, of as many axes as `D` has, or any number for `IxDyn`. Waits for queued work. Feature
    /// `ndarray`.
    ///
    /// # Errors
    /// [`Error::Rank`] for a number of axes that `D` has not, [`Error::HostMemory`], [`Error::OutOfMemory`], and what the device reports.
    pub fn to_ndarray<D: Dimension>(&self) -> Result<Array<T, D>> {
        let wrong = || Error::Rank { axes: self.rank(), wanted: D::NDIM.unwrap_or(self.rank()) };
        if D::NDIM.is_some_and(|wanted| wanted != self.rank()) {
            return Err(wrong());
        }
        let array = Array::from_shape_vec(IxDyn(self.shape()), self.to_host()?);
        array.and_then(|array| array.into_dimensionality()).map_err(|_| wrong())
    }

    /// Copies the elements to an array, or to a view of one, of the same shape and of any order and strides. Feature `ndarray`.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`], [`Error::TooManyAxes`] for an array of more than 16 axes, [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn copy_to_ndarray<S, D>(&self, array: &mut ArrayBase<S, D>) -> Result<()>
    where
        S: DataMut<Elem = T>,
        D: Dimension,
    {
        // Asked for first: an array that shares its elements gets some of its own by that, which may have other strides.
        let first = array.as_mut_ptr();
        let (layout, below) = layout_of::<T>(array.shape(), array.strides())?;
        // SAFETY: the array's elements, all of which lie at the layout's offsets from the lowest, are borrowed exclusively.
        unsafe { download(*self, first.sub(below), &layout) }
    }
}

impl<T: Pod> TensorViewMut<'_, T> {
    /// Replaces the elements by those of an array, or of a view of one, of the same shape and of any order and strides. Feature `ndarray`.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`], [`Error::TooManyAxes`] for an array of more than 16 axes, [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn copy_from_ndarray<S, D>(&mut self, array: &ArrayBase<S, D>) -> Result<()>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        let (layout, below) = layout_of::<T>(array.shape(), array.strides())?;
        // SAFETY: the array's elements, all of which lie at the layout's offsets from the lowest, are borrowed.
        unsafe { upload(self.reborrow(), array.as_ptr().sub(below), &layout) }
    }
}

impl<T: Pod> DeviceMatrix<T> {
    /// The elements of an array of two axes, or of a view of one, whatever its order is. Feature `ndarray`.
    ///
    /// ```
    /// use ndarray::array;
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let array = array![[1u8, 2, 3], [4, 5, 6]];
    /// let matrix = DeviceMatrix::from_ndarray(&Device::simulated(), &array)?;
    /// assert_eq!(matrix.transposed()?.to_ndarray()?, array.t());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn from_ndarray<S: Data<Elem = T>>(
        device: &Device,
        array: &ArrayBase<S, Ix2>,
    ) -> Result<Self> {
        let layout = Layout::contiguous(array.nrows(), array.ncols(), size_of::<T>())?;
        let mut matrix = Self::uninitialized(device, layout)?;
        TensorViewMut::from(&mut matrix).copy_from_ndarray(array)?;
        Ok(matrix)
    }

    /// The elements as an array in row-major order. Waits for queued work. Feature `ndarray`.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_ndarray(&self) -> Result<Array2<T>> {
        self.view().to_ndarray()
    }
}

impl<T: Pod> MatrixView<'_, T> {
    /// The elements as an array in row-major order. Waits for queued work. Feature `ndarray`.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_ndarray(&self) -> Result<Array2<T>> {
        TensorView::from(*self).to_ndarray()
    }
}

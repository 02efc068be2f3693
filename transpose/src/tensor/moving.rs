//! The methods that move tensors: a plan, and its run.

use super::owned::DeviceTensor;
use super::view::{TensorView, TensorViewMut};
use crate::Result;
use crate::device::require_one_memory;
use crate::plan::TensorPlan;
use bytemuck::Pod;

impl<T: Pod> TensorView<'_, T> {
    /// Copies to `dst`, which has the same shape: any strides to any.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let src = DeviceTensor::from_host(&device, &[2, 3], &[1u8, 2, 3, 4, 5, 6])?;
    /// let mut dst = DeviceTensor::zeroed(&device, &[3, 2, 2])?;
    /// let every_second = dst.view_mut().index_axis(2, 1)?;
    /// src.view().t().copy_into(every_second)?;
    /// assert_eq!(dst.to_host()?, [0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch), [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), and what
    /// the device reports.
    pub fn copy_into<'d>(&self, dst: impl Into<TensorViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let mut dst = dst.into();
        TensorPlan::new(*self, dst.reborrow())?.run(*self, dst)
    }

    /// A tensor of its own with the same elements, axis `i` being what axis `axes[i]` was.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let channels_last = DeviceTensor::<f32>::zeroed(&device, &[8, 28, 30, 3])?;
    /// let channels_first = channels_last.permuted(&[0, 3, 1, 2])?;
    /// assert_eq!(channels_first.shape(), [8, 3, 28, 30]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotAPermutation`](crate::Error::NotAPermutation) unless each axis is named once, and those of
    /// [`to_tensor`](Self::to_tensor).
    pub fn permuted(&self, axes: &[usize]) -> Result<DeviceTensor<T>> {
        self.permute_axes(axes)?.to_tensor()
    }

    /// A tensor of its own with the same elements, the order of the axes reversed.
    ///
    /// # Errors
    /// Those of [`to_tensor`](Self::to_tensor).
    pub fn transposed(&self) -> Result<DeviceTensor<T>> {
        self.t().to_tensor()
    }

    /// A tensor of its own with the same elements, without gaps.
    ///
    /// # Errors
    /// [`Error::TensorSizeOverflow`](crate::Error::TensorSizeOverflow) for a broadcast of too many elements,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what the device reports.
    pub fn to_tensor(&self) -> Result<DeviceTensor<T>> {
        let mut dst = DeviceTensor::uninitialized(self.device, self.shape())?;
        self.copy_into(&mut dst)?;
        Ok(dst)
    }
}

impl<T: Pod> DeviceTensor<T> {
    /// A tensor of its own with the same elements, axis `i` being what axis `axes[i]` was.
    ///
    /// # Errors
    /// As [`TensorView::permuted`].
    pub fn permuted(&self, axes: &[usize]) -> Result<Self> {
        self.view().permuted(axes)
    }

    /// A tensor of its own with the same elements, the order of the axes reversed.
    ///
    /// # Errors
    /// As [`TensorView::transposed`].
    pub fn transposed(&self) -> Result<Self> {
        self.view().transposed()
    }

    /// Copies to `dst`, which has the same shape.
    ///
    /// # Errors
    /// As [`TensorView::copy_into`].
    pub fn copy_into<'d>(&self, dst: impl Into<TensorViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.view().copy_into(dst)
    }
}

/// Copies several tensors of any shapes and strides, each to a destination of its shape: all or, if one of them cannot be copied to its
/// destination, none.
///
/// All moves are planned and checked before the first is queued. They go one after the other, and are on the way when this returns.
///
/// ```
/// use transpose::{Device, DeviceTensor, copy_all};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let weights = DeviceTensor::from_host(&device, &[2, 3], &[1u8, 2, 3, 4, 5, 6])?;
/// let bias = DeviceTensor::from_host(&device, &[3], &[7u8, 8, 9])?;
/// // Both into one buffer, the weights transposed.
/// let mut packed = DeviceTensor::zeroed(&device, &[9])?;
/// let (left, right) = packed.view_mut().split_at(0, 6)?;
/// copy_all([(weights.view().t(), left.reshape(&[3, 2])?), (bias.view(), right)])?;
/// assert_eq!(packed.to_host()?, [1, 4, 2, 5, 3, 6, 7, 8, 9]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch) and [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), before anything is
/// moved, and what the device reports.
pub fn copy_all<'s, 'd, T: Pod>(
    moves: impl IntoIterator<Item = (TensorView<'s, T>, TensorViewMut<'d, T>)>,
) -> Result<()> {
    let mut planned = Vec::new();
    for (src, mut dst) in moves {
        require_one_memory(src.device(), dst.device())?;
        planned.push((TensorPlan::new(src, dst.reborrow())?, src, dst));
    }
    planned.into_iter().try_for_each(|(plan, src, dst)| plan.run(src, dst))
}

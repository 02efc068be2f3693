//! The methods that conjugate tensors of complex numbers, on the way or where they are.

use super::owned::DeviceTensor;
use super::view::{TensorView, TensorViewMut};
use crate::Result;
use crate::complex::Conjugate;
use crate::plan::{TensorPlan, conjugate_in_place};

impl<T: Conjugate> TensorView<'_, T> {
    /// A tensor of its own of the conjugates of these elements, without gaps.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// // Two matrices of 1 × 2 complex numbers, and their adjoints.
    /// let host = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, -8.0f32]];
    /// let matrices = DeviceTensor::from_host(&device, &[2, 1, 2], &host)?;
    /// let adjoints = matrices.view().permute_axes(&[0, 2, 1])?.conjugated()?;
    /// assert_eq!(adjoints.shape(), [2, 2, 1]);
    /// assert_eq!(adjoints.to_host()?, [[1.0, -2.0], [3.0, -4.0], [5.0, -6.0], [7.0, 8.0]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`to_tensor`](Self::to_tensor).
    pub fn conjugated(&self) -> Result<DeviceTensor<T>> {
        let mut dst = DeviceTensor::uninitialized(self.device, self.shape())?;
        self.conjugate_into(&mut dst)?;
        Ok(dst)
    }

    /// Copies the conjugates of the elements to `dst`, which has the same shape: any strides to any.
    ///
    /// # Errors
    /// As [`copy_into`](Self::copy_into).
    pub fn conjugate_into<'d>(&self, dst: impl Into<TensorViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let mut dst = dst.into();
        TensorPlan::conjugating(*self, dst.reborrow())?.run(*self, dst)
    }
}

impl<T: Conjugate> TensorViewMut<'_, T> {
    /// Replaces every element by its conjugate.
    ///
    /// # Errors
    /// What the device reports.
    pub fn conjugate_in_place(&mut self) -> Result<()> {
        conjugate_in_place(self)
    }
}

impl<T: Conjugate> DeviceTensor<T> {
    /// A tensor of its own of the conjugates of these elements.
    ///
    /// # Errors
    /// As [`TensorView::conjugated`].
    pub fn conjugated(&self) -> Result<Self> {
        self.view().conjugated()
    }

    /// Copies the conjugates of the elements to `dst`, which has the same shape.
    ///
    /// # Errors
    /// As [`TensorView::conjugate_into`].
    pub fn conjugate_into<'d>(&self, dst: impl Into<TensorViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.view().conjugate_into(dst)
    }

    /// Replaces every element by its conjugate.
    ///
    /// # Errors
    /// What the device reports.
    pub fn conjugate_in_place(&mut self) -> Result<()> {
        self.view_mut().conjugate_in_place()
    }
}

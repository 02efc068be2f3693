//! The methods that transpose matrices and windows out of place: a plan, and its run.

use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::plan::{Batch, MatrixPlan};
use crate::{Result, Strategy};
use bytemuck::Pod;

impl<T: Pod> DeviceMatrix<T> {
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
    /// [`Error::ElementSize`](crate::Error::ElementSize), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what the device reports.
    pub fn transposed_with(&self, strategy: Strategy) -> Result<Self> {
        self.view().transposed_with(strategy)
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
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) unless `dst` is `ncols × nrows`, [`Error::ElementSize`](crate::Error::ElementSize),
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), and what the device reports.
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
}

impl<T: Pod> MatrixView<'_, T> {
    /// A matrix of its own, the transpose of this window, by the fastest strategy known.
    ///
    /// # Errors
    /// As [`transposed_with`](Self::transposed_with).
    pub fn transposed(&self) -> Result<DeviceMatrix<T>> {
        self.transposed_with(Strategy::Auto)
    }

    /// A matrix of its own, the transpose of this window, by the given strategy.
    ///
    /// # Errors
    /// [`Error::ElementSize`](crate::Error::ElementSize), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what the device reports.
    pub fn transposed_with(&self, strategy: Strategy) -> Result<DeviceMatrix<T>> {
        let layout = Layout::contiguous(self.ncols(), self.nrows(), size_of::<T>())?;
        let mut dst = DeviceMatrix::uninitialized(self.device, layout)?;
        self.transpose_into_with(&mut dst, strategy)?;
        Ok(dst)
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
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch), [`Error::ElementSize`](crate::Error::ElementSize), [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), and what the
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
        MatrixPlan::new(*self, dst.reborrow(), strategy)?.run(*self, dst)
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
        batch: Batch,
    ) -> Result<()>
    where
        T: 'd,
    {
        let mut dst = dst.into();
        MatrixPlan::batched(*self, dst.reborrow(), batch)?.run(*self, dst)
    }
}

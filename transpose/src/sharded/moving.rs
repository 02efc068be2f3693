//! The methods that move arrays between the devices of a group: a plan, and its run.

use super::matrix::ShardedMatrix;
use super::plan::ShardedPlan;
use super::tensor::{ShardedTensor, even};
use crate::{Error, Result};
use bytemuck::Pod;

impl<T: Pod> ShardedTensor<T> {
    /// Moves the array to `dst`, whose axis `i` is axis `axes[i]` of this; it may be spread in any way. To move arrays of one kind often,
    /// make a [`ShardedPlan`] once.
    ///
    /// # Errors
    /// [`Error::GroupMismatch`], [`Error::NotAPermutation`] unless each axis is named once, [`Error::TensorShapeMismatch`], and what the devices
    /// report.
    pub fn permute_into(&self, axes: &[usize], dst: &mut ShardedTensor<T>) -> Result<()> {
        ShardedPlan::new(self, dst, axes)?.run(self, dst)
    }

    /// The same array, spread along another axis in [even](crate::Shares::even) shares: every device gives every other what that one has
    /// from then on. Along the same axis, shares that were not even become so.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], [`Error::OutOfMemory`], and what the devices report.
    pub fn all_to_all(&self, axis: usize) -> Result<Self> {
        let shares = even(self.group().count(), self.shape(), axis)?;
        let mut dst = Self::uninitialized(self.group(), self.shape(), axis, &shares)?;
        let axes: Vec<usize> = (0..self.shape().len()).collect();
        self.permute_into(&axes, &mut dst)?;
        Ok(dst)
    }
}

impl<T: Pod> ShardedMatrix<T> {
    /// The transpose, in even shares of its rows.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and what the devices report.
    pub fn transposed(&self) -> Result<Self> {
        let shape = [self.ncols(), self.nrows()];
        let shares = even(self.group().count(), &shape, 0)?;
        let mut dst = ShardedTensor::uninitialized(self.group(), &shape, 0, &shares)?;
        self.as_tensor().permute_into(&[1, 0], &mut dst)?;
        Self::from_tensor(dst)
    }

    /// Transposes into `dst`, whose rows may be spread in any way. To transpose matrices of one kind often, make a [`ShardedPlan`] once.
    ///
    /// # Errors
    /// [`Error::GroupMismatch`], [`Error::ShapeMismatch`] unless `dst` is `cols × rows`, and what the devices report.
    pub fn transpose_into(&self, dst: &mut ShardedMatrix<T>) -> Result<()> {
        if dst.shape() != (self.ncols(), self.nrows()) {
            let ((src_rows, src_cols), (dst_rows, dst_cols)) = (self.shape(), dst.shape());
            return Err(Error::ShapeMismatch { src_rows, src_cols, dst_rows, dst_cols });
        }
        self.as_tensor().permute_into(&[1, 0], dst.as_tensor_mut())
    }
}

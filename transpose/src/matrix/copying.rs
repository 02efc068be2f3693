//! The methods that copy matrices and windows.

use crate::Result;
use crate::device::across;
use crate::kernels::Width;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::plan::{MatrixPlan, require_same_shape};
use bytemuck::Pod;

impl<T: Pod> DeviceMatrix<T> {
    /// Copies to `dst`, a matrix or a window on one, of the same shape.
    ///
    /// # Errors
    /// As [`MatrixView::copy_into`].
    pub fn copy_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.view().copy_into(dst)
    }
}

impl<T: Pod> MatrixView<'_, T> {
    /// Copies this window to `dst`, which has the same shape.
    ///
    /// If neither has gaps between its rows the driver copies, at the speed that transposes are measured against. Else it is the kernel of
    /// [`Plan::copy`](crate::Plan::copy), or, of elements that it does not move, the driver row by row.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let src = DeviceMatrix::from_host(&device, 2, 3, &[1u8, 2, 3, 4, 5, 6])?;
    /// let mut dst = DeviceMatrix::zeroed(&device, 3, 3)?;
    /// src.copy_into(dst.window_mut(3, 2, 3, 3)?)?;
    /// assert_eq!(dst.to_host()?, [0, 0, 0, 1, 2, 3, 4, 5, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::CopyShapeMismatch`](crate::Error::CopyShapeMismatch), [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), and
    /// what the device reports.
    pub fn copy_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let mut dst = dst.into();
        require_same_shape(self, &dst)?;
        let element_bytes = size_of::<T>();
        let one_piece = self.is_contiguous() && dst.is_contiguous() || element_bytes == 0;
        let (rows, row_bytes) = match one_piece {
            true => (1, self.layout.len() * element_bytes),
            false if Width::of_bytes(element_bytes).is_some() => {
                return MatrixPlan::copy(*self, dst.reborrow())?.run(*self, dst);
            }
            false => (self.nrows(), self.ncols() * element_bytes),
        };
        across(self.device, dst.device, |device| {
            for row in 0..rows {
                let src = self.address + (row * self.ld() * element_bytes) as u64;
                let dst = dst.address + (row * dst.ld() * element_bytes) as u64;
                // SAFETY: both are rows, or all elements without a gap, of windows inside live memory; that of `dst` is borrowed
                // exclusively, so the two are apart.
                unsafe { device.copy(src, dst, row_bytes)? }
            }
            Ok(())
        })
    }
}

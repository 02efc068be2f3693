//! The methods that conjugate matrices and windows of complex numbers, and transpose them on the same way: adjoints.

use crate::Result;
use crate::complex::Conjugate;
use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::plan::{require_same_shape, require_transposed};
use crate::tensor::{TensorView, TensorViewMut};

impl<T: Conjugate> DeviceMatrix<T> {
    /// The adjoint: the transposed matrix, every element conjugated.
    ///
    /// # Errors
    /// As [`MatrixView::adjoint`].
    pub fn adjoint(&self) -> Result<Self> {
        self.view().adjoint()
    }

    /// Writes the adjoint into `dst`, a matrix or a window on one.
    ///
    /// # Errors
    /// As [`MatrixView::adjoint_into`].
    pub fn adjoint_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.view().adjoint_into(dst)
    }

    /// Copies the conjugates of the elements to `dst`, a matrix or a window on one, of the same shape.
    ///
    /// # Errors
    /// As [`MatrixView::conjugate_into`].
    pub fn conjugate_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        self.view().conjugate_into(dst)
    }

    /// Replaces every element by its conjugate. What lies between the rows is not touched.
    ///
    /// # Errors
    /// What the device reports.
    pub fn conjugate_in_place(&mut self) -> Result<()> {
        self.view_mut().conjugate_in_place()
    }
}

impl<T: Conjugate> MatrixView<'_, T> {
    /// The adjoint of this window, as a matrix of its own: transposed, every element conjugated.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 1, 2, &[[1.0, 2.0], [3.0, -4.0f64]])?;
    /// let adjoint = a.adjoint()?;
    /// assert_eq!((adjoint.shape(), adjoint.to_host()?), ((2, 1), vec![[1.0, -2.0], [3.0, 4.0]]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what the device reports.
    pub fn adjoint(&self) -> Result<DeviceMatrix<T>> {
        let layout = Layout::contiguous(self.ncols(), self.nrows(), size_of::<T>())?;
        let mut dst = DeviceMatrix::uninitialized(self.device, layout)?;
        self.adjoint_into(&mut dst)?;
        Ok(dst)
    }

    /// Writes the adjoint of this window into `dst`, in one pass.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) unless `dst` is `ncols × nrows`, [`Error::DeviceMismatch`](crate::Error::DeviceMismatch),
    /// and what the device reports.
    pub fn adjoint_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let dst = dst.into();
        require_transposed(&self.layout, &dst.layout)?;
        TensorView::from(*self).t().conjugate_into(dst)
    }

    /// Copies the conjugates of the elements of this window to `dst`, which has the same shape.
    ///
    /// # Errors
    /// As [`copy_into`](Self::copy_into).
    pub fn conjugate_into<'d>(&self, dst: impl Into<MatrixViewMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let dst = dst.into();
        require_same_shape(self, &dst)?;
        TensorView::from(*self).conjugate_into(dst)
    }
}

impl<T: Conjugate> MatrixViewMut<'_, T> {
    /// Replaces every element by its conjugate. What lies between the rows is not touched.
    ///
    /// # Errors
    /// What the device reports.
    pub fn conjugate_in_place(&mut self) -> Result<()> {
        TensorViewMut::from(self.reborrow()).conjugate_in_place()
    }
}

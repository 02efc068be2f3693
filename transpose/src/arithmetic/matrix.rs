//! The methods that compute on the way from matrix to matrix, transposed or not.

use super::kind::Complex;
use super::number::{ConvertTo, Number};
use super::operation::Arithmetic;
use super::tensor::compute;
use crate::Result;
use crate::layout::Layout;
use crate::matrix::{DeviceMatrix, MatrixView, MatrixViewMut};
use crate::plan::require_transposed;
use crate::tensor::{TensorView, TensorViewMut};

impl<T: Number> MatrixView<'_, T> {
    /// A matrix of its own of these numbers times `alpha`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what the device reports.
    pub fn scaled(&self, alpha: T::Factor) -> Result<DeviceMatrix<T>> {
        let mut dst = new(self, self.nrows(), self.ncols())?;
        compute(&Arithmetic::scaling(alpha), (*self).into(), dst.view_mut().into())?;
        Ok(dst)
    }

    /// A matrix of its own, of `ncols × nrows`: the transpose of this window times `alpha`.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 2, 3, &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(a.transposed_scaled(0.5)?.to_host()?, [0.5, 2.0, 1.0, 2.5, 1.5, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`scaled`](Self::scaled).
    pub fn transposed_scaled(&self, alpha: T::Factor) -> Result<DeviceMatrix<T>> {
        let mut dst = new(self, self.ncols(), self.nrows())?;
        compute(&Arithmetic::scaling(alpha), TensorView::from(*self).t(), dst.view_mut().into())?;
        Ok(dst)
    }

    /// A matrix of its own of the same numbers as numbers of another type: see [`TensorView::converted`].
    ///
    /// # Errors
    /// As [`scaled`](Self::scaled).
    pub fn converted<U: Number>(&self) -> Result<DeviceMatrix<U>>
    where
        T: ConvertTo<U>,
    {
        let mut dst = new(self, self.nrows(), self.ncols())?;
        compute(&Arithmetic::converting(), (*self).into(), dst.view_mut().into())?;
        Ok(dst)
    }

    /// A matrix of its own, of `ncols × nrows`: the transpose of this window, its numbers of another type: see [`TensorView::converted`].
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 2, 2, &[1.0f64, 2.5, -3.5, 1e10])?;
    /// assert_eq!(a.transposed_converted::<i16>()?.to_host()?, [1, -4, 2, 32767]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`scaled`](Self::scaled).
    pub fn transposed_converted<U: Number>(&self) -> Result<DeviceMatrix<U>>
    where
        T: ConvertTo<U>,
    {
        let mut dst = new(self, self.ncols(), self.nrows())?;
        self.transpose_converted_into(&mut dst)?;
        Ok(dst)
    }

    /// Writes the transpose of this window into `dst`, which is `ncols × nrows` and has numbers of another type.
    ///
    /// # Errors
    /// As [`transpose_into`](Self::transpose_into).
    pub fn transpose_converted_into<'d, U: Number>(
        &self,
        dst: impl Into<MatrixViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        let dst = dst.into();
        require_transposed(&self.layout, &dst.layout)?;
        compute(&Arithmetic::converting(), TensorView::from(*self).t(), dst.into())
    }

    /// Writes `alpha` times the transpose of this window plus `beta` times `other` into `dst`; these two are `ncols × nrows`.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 1, 2, &[1.0f32, 2.0])?;
    /// let b = DeviceMatrix::from_host(&device, 2, 1, &[0.5f32, 0.25])?;
    /// let mut sum = DeviceMatrix::zeroed(&device, 2, 1)?;
    /// a.add_transposed_into(2.0, &b, 4.0, &mut sum)?;
    /// assert_eq!(sum.to_host()?, [4.0, 5.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`transpose_into`](Self::transpose_into), and [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch) for an `other` that has not the
    /// shape of `dst`.
    pub fn add_transposed_into<'o, 'd, U: Number>(
        &self,
        alpha: U::Factor,
        other: impl Into<MatrixView<'o, U>>,
        beta: U::Factor,
        dst: impl Into<MatrixViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        let (other, dst) = (other.into(), dst.into());
        require_transposed(&self.layout, &dst.layout)?;
        let (other, dst) = (TensorView::from(other), TensorViewMut::from(dst));
        TensorView::from(*self).t().add_into(alpha, other, beta, dst)
    }

    /// Replaces `dst`, which is `ncols × nrows`, by `beta` times itself plus `alpha` times the transpose of this window.
    ///
    /// # Errors
    /// As [`transpose_into`](Self::transpose_into).
    pub fn add_transposed_to<'d, U: Number>(
        &self,
        alpha: U::Factor,
        beta: U::Factor,
        dst: impl Into<MatrixViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        let dst = dst.into();
        require_transposed(&self.layout, &dst.layout)?;
        TensorView::from(*self).t().add_to(alpha, beta, TensorViewMut::from(dst))
    }
}

impl<T: Number<Kind = Complex>> MatrixView<'_, T> {
    /// A matrix of its own, the adjoint of this window times `alpha`: transposed, every number conjugated first.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 1, 2, &[[1.0, 2.0], [3.0, -4.0f32]])?;
    /// let scaled = a.adjoint_scaled([0.0, 1.0])?;
    /// assert_eq!(scaled.to_host()?, [[2.0, 1.0], [-4.0, 3.0]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`scaled`](Self::scaled).
    pub fn adjoint_scaled(&self, alpha: T::Factor) -> Result<DeviceMatrix<T>> {
        let mut dst = new(self, self.ncols(), self.nrows())?;
        let arithmetic = Arithmetic::scaling(alpha).conjugated();
        compute(&arithmetic, TensorView::from(*self).t(), dst.view_mut().into())?;
        Ok(dst)
    }
}

impl<T: Number> DeviceMatrix<T> {
    /// A matrix of its own of these numbers times `alpha`.
    ///
    /// # Errors
    /// As [`MatrixView::scaled`].
    pub fn scaled(&self, alpha: T::Factor) -> Result<Self> {
        self.view().scaled(alpha)
    }

    /// The transposed matrix times `alpha`.
    ///
    /// # Errors
    /// As [`MatrixView::transposed_scaled`].
    pub fn transposed_scaled(&self, alpha: T::Factor) -> Result<Self> {
        self.view().transposed_scaled(alpha)
    }

    /// The same numbers as numbers of another type, each the nearest that there is.
    ///
    /// # Errors
    /// As [`MatrixView::converted`].
    pub fn converted<U: Number>(&self) -> Result<DeviceMatrix<U>>
    where
        T: ConvertTo<U>,
    {
        self.view().converted()
    }

    /// The transposed matrix, its numbers of another type.
    ///
    /// # Errors
    /// As [`MatrixView::transposed_converted`].
    pub fn transposed_converted<U: Number>(&self) -> Result<DeviceMatrix<U>>
    where
        T: ConvertTo<U>,
    {
        self.view().transposed_converted()
    }

    /// Writes the transposed matrix, its numbers of another type, into `dst`.
    ///
    /// # Errors
    /// As [`MatrixView::transpose_converted_into`].
    pub fn transpose_converted_into<'d, U: Number>(
        &self,
        dst: impl Into<MatrixViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().transpose_converted_into(dst)
    }

    /// Writes `alpha` times the transposed matrix plus `beta` times `other` into `dst`.
    ///
    /// # Errors
    /// As [`MatrixView::add_transposed_into`].
    pub fn add_transposed_into<'o, 'd, U: Number>(
        &self,
        alpha: U::Factor,
        other: impl Into<MatrixView<'o, U>>,
        beta: U::Factor,
        dst: impl Into<MatrixViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().add_transposed_into(alpha, other, beta, dst)
    }

    /// Replaces `dst` by `beta` times itself plus `alpha` times the transposed matrix.
    ///
    /// # Errors
    /// As [`MatrixView::add_transposed_to`].
    pub fn add_transposed_to<'d, U: Number>(
        &self,
        alpha: U::Factor,
        beta: U::Factor,
        dst: impl Into<MatrixViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().add_transposed_to(alpha, beta, dst)
    }
}

impl<T: Number<Kind = Complex>> DeviceMatrix<T> {
    /// The adjoint matrix times `alpha`.
    ///
    /// # Errors
    /// As [`MatrixView::adjoint_scaled`].
    pub fn adjoint_scaled(&self, alpha: T::Factor) -> Result<Self> {
        self.view().adjoint_scaled(alpha)
    }
}

/// A matrix to be filled, on a window's device.
fn new<T: Number, U: Number>(
    view: &MatrixView<'_, T>,
    rows: usize,
    cols: usize,
) -> Result<DeviceMatrix<U>> {
    let layout = Layout::contiguous(rows, cols, size_of::<U>())?;
    DeviceMatrix::uninitialized(view.device, layout)
}

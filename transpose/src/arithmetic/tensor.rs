//! The methods that compute on the way from tensor to tensor: of any strides, in any order of axes.

use super::kind::{Complex, Real};
use super::number::{ConvertTo, Number};
use super::operation::Arithmetic;
use crate::Result;
use crate::plan::{ArithmeticPlan, NormalizingPlan};
use crate::tensor::{DeviceTensor, TensorView, TensorViewMut};

impl<T: Number> TensorView<'_, T> {
    /// A tensor of its own of these numbers times `alpha`, without gaps.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceTensor::from_host(&device, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(a.view().t().scaled(10.0)?.to_host()?, [10.0, 30.0, 20.0, 40.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`to_tensor`](Self::to_tensor).
    pub fn scaled(&self, alpha: T::Factor) -> Result<DeviceTensor<T>> {
        let mut dst = DeviceTensor::uninitialized(self.device, self.shape())?;
        self.scale_into(alpha, &mut dst)?;
        Ok(dst)
    }

    /// Writes these numbers times `alpha` to `dst`, which has the same shape: any strides to any.
    ///
    /// # Errors
    /// As [`copy_into`](Self::copy_into).
    pub fn scale_into<'d>(
        &self,
        alpha: T::Factor,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<()>
    where
        T: 'd,
    {
        compute(&Arithmetic::scaling(alpha), *self, dst.into())
    }

    /// A tensor of its own of the same numbers as numbers of another type, without gaps.
    ///
    /// Each is the nearest number that there is, of two equally near ones the even one. Beyond the largest number floating-point numbers become
    /// infinite; integers and numbers of 8 bits become the largest. What is no number stays none, and is 0 as an integer.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceTensor::from_host(&device, &[2, 2], &[0.5f32, 1.5, -3.0, 300.0])?;
    /// assert_eq!(a.view().t().converted::<u8>()?.to_host()?, [0, 0, 2, 255]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`to_tensor`](Self::to_tensor).
    pub fn converted<U: Number>(&self) -> Result<DeviceTensor<U>>
    where
        T: ConvertTo<U>,
    {
        let mut dst = DeviceTensor::uninitialized(self.device, self.shape())?;
        self.convert_into(&mut dst)?;
        Ok(dst)
    }

    /// Writes the same numbers to `dst`, which has the same shape and another type of numbers: any strides to any.
    ///
    /// # Errors
    /// As [`copy_into`](Self::copy_into).
    pub fn convert_into<'d, U: Number>(&self, dst: impl Into<TensorViewMut<'d, U>>) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        compute(&Arithmetic::converting(), *self, dst.into())
    }

    /// Writes `alpha` times these numbers plus `beta` times those of `other` to `dst`. All have one shape, and any strides.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceTensor::from_host(&device, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let b = DeviceTensor::from_host(&device, &[2, 2], &[0.1f32, 0.2, 0.3, 0.4])?;
    /// let mut sum = DeviceTensor::zeroed(&device, &[2, 2])?;
    /// a.view().t().add_into(1.0, &b, 10.0, &mut sum)?;
    /// assert_eq!(sum.to_host()?, [2.0, 5.0, 5.0, 8.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`copy_into`](Self::copy_into).
    pub fn add_into<'o, 'd, U: Number>(
        &self,
        alpha: U::Factor,
        other: impl Into<TensorView<'o, U>>,
        beta: U::Factor,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        let (other, mut dst) = (other.into(), dst.into());
        let scaling = Arithmetic::scaling(alpha);
        let plan = ArithmeticPlan::adding(&scaling, *self, beta, other, dst.reborrow())?;
        plan.run_adding(*self, other, dst)
    }

    /// Replaces the numbers of `dst`, which has the same shape, by `beta` times them plus `alpha` times these.
    ///
    /// # Errors
    /// As [`copy_into`](Self::copy_into).
    pub fn add_to<'d, U: Number>(
        &self,
        alpha: U::Factor,
        beta: U::Factor,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        let mut dst = dst.into();
        let scaling = Arithmetic::scaling(alpha);
        let plan = ArithmeticPlan::onto(&scaling, *self, beta, dst.reborrow())?;
        plan.run_onto(*self, dst)
    }
}

impl<T: Number<Kind = Real>> TensorView<'_, T> {
    /// A tensor of its own of these numbers, each times the factor and plus the summand of its index on an axis, as numbers of another type: images become
    /// tensors, and tensors images.
    ///
    /// Both are rounded, the product and the sum, and then what they become. They are computed in numbers of 32 bits, or of 64 if either type has numbers that
    /// need them.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// // Two pixels of three channels, to three planes.
    /// let image = DeviceTensor::from_host(&device, &[2, 3], &[0u8, 100, 200, 255, 50, 150])?;
    /// let planes = image.view().t().normalized::<f32>(0, &[1.0, 0.5, 2.0], &[0.0, -10.0, 1.0])?;
    /// assert_eq!(planes.to_host()?, [0.0, 255.0, 40.0, 15.0, 401.0, 301.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`to_tensor`](Self::to_tensor), [`Error::NoSuchAxis`](crate::Error::NoSuchAxis), and
    /// [`Error::TensorLength`](crate::Error::TensorLength) unless there are as many factors and summands as the axis is long.
    pub fn normalized<U: Number>(
        &self,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
    ) -> Result<DeviceTensor<U>>
    where
        T: ConvertTo<U>,
    {
        let mut dst = DeviceTensor::uninitialized(self.device, self.shape())?;
        self.normalize_into(axis, factors, summands, &mut dst)?;
        Ok(dst)
    }

    /// Writes these numbers, each times the factor and plus the summand of its index on an axis, to `dst`, which has the same shape: any strides to any.
    ///
    /// Factors and summands are brought to the device unless they are there from calls before; a [`NormalizingPlan`] keeps them there, and says what that takes.
    ///
    /// # Errors
    /// As [`normalized`](Self::normalized) and [`copy_into`](Self::copy_into).
    pub fn normalize_into<'d, U: Number>(
        &self,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        let mut dst = dst.into();
        NormalizingPlan::new(*self, axis, factors, summands, dst.reborrow())?.run(*self, dst)
    }
}

impl<T: Number<Kind = Complex>> TensorView<'_, T> {
    /// A tensor of its own of the conjugates of these numbers times `alpha`, without gaps.
    ///
    /// # Errors
    /// As [`to_tensor`](Self::to_tensor).
    pub fn conjugated_scaled(&self, alpha: T::Factor) -> Result<DeviceTensor<T>> {
        let mut dst = DeviceTensor::uninitialized(self.device, self.shape())?;
        let arithmetic = Arithmetic::scaling(alpha).conjugated();
        compute(&arithmetic, *self, dst.view_mut())?;
        Ok(dst)
    }
}

impl<T: Number> DeviceTensor<T> {
    /// A tensor of its own of these numbers times `alpha`.
    ///
    /// # Errors
    /// As [`TensorView::scaled`].
    pub fn scaled(&self, alpha: T::Factor) -> Result<Self> {
        self.view().scaled(alpha)
    }

    /// A tensor of its own of the same numbers as numbers of another type, each the nearest that there is.
    ///
    /// # Errors
    /// As [`TensorView::converted`].
    pub fn converted<U: Number>(&self) -> Result<DeviceTensor<U>>
    where
        T: ConvertTo<U>,
    {
        self.view().converted()
    }

    /// Writes these numbers times `alpha` to `dst`, which has the same shape.
    ///
    /// # Errors
    /// As [`TensorView::scale_into`].
    pub fn scale_into<'d>(
        &self,
        alpha: T::Factor,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<()>
    where
        T: 'd,
    {
        self.view().scale_into(alpha, dst)
    }

    /// Writes the same numbers to `dst`, which has the same shape and another type of numbers.
    ///
    /// # Errors
    /// As [`TensorView::convert_into`].
    pub fn convert_into<'d, U: Number>(&self, dst: impl Into<TensorViewMut<'d, U>>) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().convert_into(dst)
    }

    /// Writes `alpha` times these numbers plus `beta` times those of `other` to `dst`. All have one shape.
    ///
    /// # Errors
    /// As [`TensorView::add_into`].
    pub fn add_into<'o, 'd, U: Number>(
        &self,
        alpha: U::Factor,
        other: impl Into<TensorView<'o, U>>,
        beta: U::Factor,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().add_into(alpha, other, beta, dst)
    }

    /// Replaces the numbers of `dst`, which has the same shape, by `beta` times them plus `alpha` times these.
    ///
    /// # Errors
    /// As [`TensorView::add_to`].
    pub fn add_to<'d, U: Number>(
        &self,
        alpha: U::Factor,
        beta: U::Factor,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().add_to(alpha, beta, dst)
    }
}

impl<T: Number<Kind = Real>> DeviceTensor<T> {
    /// A tensor of its own of these numbers, each times the factor and plus the summand of its index on an axis, as numbers of another type.
    ///
    /// # Errors
    /// As [`TensorView::normalized`].
    pub fn normalized<U: Number>(
        &self,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
    ) -> Result<DeviceTensor<U>>
    where
        T: ConvertTo<U>,
    {
        self.view().normalized(axis, factors, summands)
    }

    /// Writes these numbers, each times the factor and plus the summand of its index on an axis, to `dst`, which has the same shape.
    ///
    /// # Errors
    /// As [`TensorView::normalize_into`].
    pub fn normalize_into<'d, U: Number>(
        &self,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: ConvertTo<U>,
    {
        self.view().normalize_into(axis, factors, summands, dst)
    }
}

impl<T: Number<Kind = Complex>> DeviceTensor<T> {
    /// A tensor of its own of the conjugates of these numbers times `alpha`.
    ///
    /// # Errors
    /// As [`TensorView::conjugated_scaled`].
    pub fn conjugated_scaled(&self, alpha: T::Factor) -> Result<Self> {
        self.view().conjugated_scaled(alpha)
    }
}

/// Plans and runs.
pub(super) fn compute<T: ConvertTo<U>, U: Number>(
    arithmetic: &Arithmetic<U>,
    src: TensorView<'_, T>,
    mut dst: TensorViewMut<'_, U>,
) -> Result<()> {
    ArithmeticPlan::new(arithmetic, src, dst.reborrow())?.run(src, dst)
}

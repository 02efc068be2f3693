//! Complex numbers as elements: [`Complex`] of [`num-complex`](https://docs.rs/num-complex).
//!
//! The feature makes them `Pod`, which is all that an element has to be, and those of floating-point numbers
//! [`Conjugate`](crate::Conjugate). The real and the imaginary part are moved together.
//!
//! ```
//! use transpose::interop::num_complex::Complex32;
//! use transpose::{Device, DeviceMatrix};
//! # fn main() -> transpose::Result<()> {
//! let device = Device::simulated();
//! let elements = [1.0, 2.0, 3.0, 4.0].map(|real| Complex32::new(real, -real));
//! let a = DeviceMatrix::from_host(&device, 2, 2, &elements)?;
//! assert_eq!(a.transposed()?.to_host()?[1], Complex32::new(3.0, -3.0));
//! assert_eq!(a.adjoint()?.to_host()?[1], Complex32::new(3.0, 3.0));
//! // Their parts, as rows of real numbers.
//! assert_eq!(a.view().cast::<f32>()?.shape(), (2, 4));
//! # Ok(())
//! # }
//! ```

pub use ::num_complex::{Complex, Complex32, Complex64};

impl crate::Conjugate for Complex32 {}
impl crate::Conjugate for Complex64 {}
#[cfg(feature = "half")]
impl crate::Conjugate for Complex<half::f16> {}
#[cfg(feature = "half")]
impl crate::Conjugate for Complex<half::bf16> {}

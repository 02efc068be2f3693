//! Numbers of 16 bits as elements: [`struct@f16`] and [`struct@bf16`] of [`half`](https://docs.rs/half).
//!
//! The feature makes both `Pod`, which is all that an element has to be, and pairs of them complex numbers:
//! [`Conjugate`](crate::Conjugate).
//!
//! ```
//! use transpose::interop::half::{bf16, f16};
//! use transpose::{Device, DeviceMatrix};
//! # fn main() -> transpose::Result<()> {
//! let device = Device::simulated();
//! let elements = [1.0, 2.0, 3.0, 4.0].map(f16::from_f32);
//! let a = DeviceMatrix::from_host(&device, 2, 2, &elements)?;
//! assert_eq!(a.transposed()?.to_host()?[1], f16::from_f32(3.0));
//! // The same bits as another type of their size; nothing is converted.
//! assert_eq!(a.cast::<bf16>()?.to_host()?[0].to_bits(), 0x3c00);
//! # Ok(())
//! # }
//! ```

pub use ::half::{bf16, f16};

impl crate::Conjugate for [f16; 2] {}
impl crate::Conjugate for [bf16; 2] {}

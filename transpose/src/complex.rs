//! Complex numbers: elements that have a conjugate.

use bytemuck::Pod;

/// A complex number: the real part and behind it the imaginary part, two numbers of the same format in whose highest bit the sign is.
///
/// Arrays of two floating-point numbers are complex numbers, with the features `num-complex` and `half` those of these crates too, and
/// types of your own can be that have 4, 8 or 16 bytes. One of another size does not compile where it is conjugated; what is not two
/// numbers like that has its highest bit flipped all the same.
///
/// ```
/// use transpose::{Conjugate, Device, DeviceMatrix};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, PartialEq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
/// struct Impedance {
///     resistance: f64,
///     reactance: f64,
/// }
///
/// impl Conjugate for Impedance {}
///
/// # fn main() -> transpose::Result<()> {
/// let load = Impedance { resistance: 50.0, reactance: 12.5 };
/// let matched = DeviceMatrix::from_host(&Device::simulated(), 1, 1, &[load])?.adjoint()?.to_host()?;
/// assert_eq!(matched, [Impedance { resistance: 50.0, reactance: -12.5 }]);
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail,E0080
/// # use transpose::{Conjugate, Device, DeviceMatrix};
/// #[repr(transparent)]
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// struct Pixel([u8; 3]);
///
/// impl Conjugate for Pixel {}
///
/// # fn main() -> transpose::Result<()> {
/// DeviceMatrix::<Pixel>::zeroed(&Device::simulated(), 2, 3)?.adjoint()?;
/// # Ok(())
/// # }
/// ```
pub trait Conjugate: Pod {}

impl Conjugate for [f32; 2] {}
impl Conjugate for [f64; 2] {}

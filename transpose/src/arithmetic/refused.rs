//! What cannot be computed does not compile: each with the error that it must be refused by, and beside it the program that differs from it in that alone and is
//! accepted.

/// Complex numbers do not become real ones.
///
/// ```compile_fail,E0271
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<[f32; 2]>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.converted::<f64>().unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<[f32; 2]>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.converted::<[f64; 2]>().unwrap();
/// ```
struct Kinds;

/// Integers of 64 bits are not all numbers of 64 bits.
///
/// ```compile_fail,E0599
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<u64>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.converted::<f64>().unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<u32>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.converted::<f64>().unwrap();
/// ```
struct NotExact;

/// Real numbers have no conjugates.
///
/// ```compile_fail,E0599
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.view().adjoint_scaled(2.0).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<[f32; 2]>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.view().adjoint_scaled([2.0, 0.0]).unwrap();
/// ```
struct RealConjugates;

/// A factor is not wider than what it is computed in.
///
/// ```compile_fail,E0308
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.scaled(0.1f64).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 2, 3).unwrap();
/// a.scaled(0.1).unwrap();
/// ```
struct WideFactor;

/// What is added to is not what is added.
///
/// ```compile_fail,E0502
/// # use transpose::{Device, DeviceMatrix};
/// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 3, 3).unwrap();
/// a.view().add_transposed_to(1.0, 1.0, &mut a).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 3, 3).unwrap();
/// let mut b = DeviceMatrix::<f32>::zeroed(&device, 3, 3).unwrap();
/// a.view().add_transposed_to(1.0, 1.0, &mut b).unwrap();
/// ```
struct AddedToItself;

//! Tensors of other libraries and languages by [DLPack](https://dmlc.github.io/dlpack/latest/): PyTorch, CuPy, JAX, NumPy and others.
//!
//! [`Imported`] takes a managed tensor, versioned or legacy, and views its memory where it is, strides and all; [`export`] and
//! [`export_legacy`] give a [`DeviceTensor`](crate::DeviceTensor) away. Memory of a GPU is not copied. The simulator's memory is
//! its own: there tensors are of the CPU, and copied both ways.
//!
//! ```
//! use transpose::interop::dlpack::{ForeignStream, Imported, export};
//! use transpose::{Device, DeviceTensor};
//! # fn main() -> transpose::Result<()> {
//! let device = Device::simulated();
//! let tensor = DeviceTensor::from_host(&device, &[2, 3], &[1i32, 2, 3, 4, 5, 6])?;
//! let managed = export(tensor, ForeignStream::LEGACY)?; // what a capsule named `dltensor_versioned` holds
//!
//! // SAFETY: the tensor was just exported and nobody else has it; what made it is done.
//! let imported = unsafe { Imported::from_raw(&device, managed.as_ptr())? };
//! let turned = imported.to_tensor::<i32>()?.transposed()?; // on a GPU: imported.view::<i32>()?.transposed()?
//! assert_eq!(turned.to_host()?, [1, 4, 2, 5, 3, 6]);
//! # Ok(())
//! # }
//! ```
//!
//! # Order
//! Nothing in a managed tensor says when its memory may be used. In Python the consumer of `__dlpack__(stream=…)` names its stream, and the
//! producer has that stream wait:
//! - who *imports* passes [`Device::cuda_stream`](crate::Device::cuda_stream) to the producer; where it cannot, [`wait_for`];
//! - who *exports* is told a stream, as a [`ForeignStream`], which waits for the device's queue by an event.
//!
//! Giving memory back has an order too: an [`Imported`] waits for the device's queue before it calls the producer's deleter, unless the
//! producer's stream is named ([`Imported::release_on`]), and then that stream waits. Exported memory is freed after all that the
//! consumer's stream was given until then, or, if that is not the legacy default stream, after all that its context was given.

mod abi;
mod element;
mod export;
mod import;
mod order;
mod refusal;

pub use abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
    FLAG_IS_COPIED, FLAG_READ_ONLY, device_type, type_code,
};
pub use element::DlElement;
pub use export::{export, export_as, export_legacy, export_legacy_as};
pub use import::Imported;
pub use order::{ForeignStream, wait_for};
pub use refusal::Refusal;

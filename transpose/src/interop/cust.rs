//! A program that drives a GPU through [`cust`](https://docs.rs/cust/0.3.2) and transposes on it.
//!
//! Both use the device's primary context: the one that `cust::quick_init` and `cust::context::Context::new` make current
//! is the one that a [`Device`] has its matrices in, so kernels of either read matrices of the other. This library leaves no
//! context current, so a program makes one with `cust` before it uses `cust`.
//!
//! ```no_run
//! use transpose::interop::cust as interop;
//! use transpose::{Device, DeviceMatrix};
//!
//! # fn main() -> transpose::Result<()> {
//! let _context = cust::quick_init()?; // cust's error becomes this library's
//! let device = Device::cuda(0)?;
//! let a = DeviceMatrix::<f32>::zeroed(&device, 70, 50)?;
//! let (stream, elements) = (interop::stream(&device), a.device_address());
//! // A kernel that is launched on `stream` comes after the zeroing, and before what is called next.
//! # let _ = (stream, elements);
//! # Ok(())
//! # }
//! ```
//!
//! With this feature the program is built with `cust`, whose build script asks for a CUDA toolkit or for what
//! the page of `cuda_driver` says to give it in place of one; it still starts without a driver.

use crate::{Device, Error};
use cust::error::CudaError;
use cust::sys::{CUcontext, CUstream};

/// The stream that a device's work is queued on; `None` on the simulator. See [`Device::cuda_stream`].
pub fn stream(device: &Device) -> Option<CUstream> {
    device.cuda_stream().map(<*mut _>::cast)
}

/// The context that a device's memory and kernels are in; `None` on the simulator. See [`Device::cuda_context`].
pub fn context(device: &Device) -> Option<CUcontext> {
    device.cuda_context().map(<*mut _>::cast)
}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Self {
        cuda_driver::Error::call("cust", error as u32).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_code() {
        let error = Error::from(CudaError::IllegalAddress);
        assert!(matches!(error, Error::Cuda { operation: "cust", code: 700, .. }), "{error}");
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn the_simulator_has_neither_context_nor_stream() {
        let device = Device::simulated();
        assert_eq!((context(&device), stream(&device)), (None, None));
    }
}

//! A Python module that permutes the axes of tensors of any library that speaks DLPack.
//!
//! `permuted(tensor, axes)` reads a GPU's tensor where it is and gives an `Array`, which `torch.from_dlpack`, `cupy.from_dlpack` and others
//! take without a copy. Tensors of the host are moved by the simulator. `from_python.py` uses and checks it:
//!
//! ```text
//! cargo build --release -p transpose-dlpack
//! python3 examples/15_dlpack/from_python.py target/release/libtranspose_dlpack.so
//! ```

mod capsule;
mod elements;

use elements::Elements;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use transpose::Device;
use transpose::interop::dlpack::{DLDataType, ForeignStream, device_type};

/// An error of the library as one of Python's.
fn refused(error: transpose::Error) -> PyErr {
    PyBufferError::new_err(error.to_string())
}

/// The device of a tensor, made once for each GPU; the simulator for tensors of the host.
fn device_of(tensor: &Bound<'_, PyAny>) -> PyResult<Device> {
    static DEVICES: Mutex<BTreeMap<u32, Device>> = Mutex::new(BTreeMap::new());
    let (kind, id): (i32, u32) = tensor.call_method0("__dlpack_device__")?.extract()?;
    // What is managed may be in use by the GPU, which alone is in order with that.
    let gpu = matches!(kind, device_type::CUDA | device_type::CUDA_MANAGED);
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    // GPUs are counted from 0; what is before them is the simulator.
    let number = if gpu { id + 1 } else { 0 };
    if let Some(device) = devices.get(&number) {
        return Ok(device.clone());
    }
    let device = if gpu { Device::cuda(id).map_err(refused)? } else { Device::simulated() };
    devices.insert(number, device.clone());
    Ok(device)
}

/// A stream as the protocol numbers it.
fn stream(number: Option<isize>) -> PyResult<ForeignStream> {
    Ok(match number {
        None | Some(1) => ForeignStream::LEGACY,
        Some(2) => ForeignStream::PER_THREAD,
        Some(-1) => ForeignStream::UNORDERED,
        Some(handle @ 3..) => {
            // SAFETY: the protocol: the handle of a live stream of the tensor's device.
            unsafe {
                ForeignStream::new(std::ptr::without_provenance_mut::<c_void>(handle as usize))
            }
        }
        Some(other) => return Err(PyValueError::new_err(format!("{other} is no stream"))),
    })
}

/// Elements of a device, which go to one other library.
#[pyclass(module = "transpose_dlpack")]
struct Array {
    device: Device,
    data_type: DLDataType,
    /// Where the elements were read from, and where they are.
    addresses: [u64; 2],
    elements: Mutex<Option<Elements>>,
}

#[pymethods]
impl Array {
    /// The tensor as a capsule, once.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) || copy == Some(true)
        {
            return Err(PyBufferError::new_err(
                "the tensor is given as it is: neither copied nor moved",
            ));
        }
        let stream = crate::stream(stream)?;
        let elements = self.elements.lock().unwrap_or_else(PoisonError::into_inner).take();
        let elements =
            elements.ok_or_else(|| PyBufferError::new_err("the tensor was given away"))?;
        match max_version {
            Some((1.., _)) => {
                capsule::versioned(py, elements.export(self.data_type, stream).map_err(refused)?)
            }
            _ => capsule::legacy(
                py,
                elements.export_legacy(self.data_type, stream).map_err(refused)?,
            ),
        }
    }

    /// The kind and the number of the device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        match self.device.cuda_ordinal() {
            Some(ordinal) => (device_type::CUDA, ordinal as i32),
            None => (device_type::CPU, 0),
        }
    }

    /// The address of the first element that was read: the tensor's own if nothing was copied.
    #[getter]
    fn source_address(&self) -> u64 {
        self.addresses[0]
    }

    /// The address of the first element.
    #[getter]
    fn address(&self) -> u64 {
        self.addresses[1]
    }
}

/// The tensor's elements in memory of their own, axis `i` being what axis `axes[i]` was.
///
/// `stream` is the one on which the tensor's library works, as the protocol numbers it: it will wait until the elements have been read. Without
/// it, this call waits.
#[pyfunction]
#[pyo3(signature = (tensor, axes, stream=None))]
fn permuted(tensor: &Bound<'_, PyAny>, axes: Vec<usize>, stream: Option<isize>) -> PyResult<Array> {
    let device = device_of(tensor)?;
    let imported = capsule::import(&device, tensor)?;
    let (elements, addresses) = Elements::permuted(&imported, &axes).map_err(refused)?;
    let data_type = imported.data_type();
    capsule::release(imported, stream)?;
    Ok(Array { device, data_type, addresses, elements: Mutex::new(Some(elements)) })
}

/// Writes the tensor's elements to `out`, a tensor on the same GPU, where it is: axis `i` of `out` is what axis `axes[i]` was.
#[pyfunction]
#[pyo3(signature = (tensor, axes, out, stream=None))]
fn permute_into(
    tensor: &Bound<'_, PyAny>,
    axes: Vec<usize>,
    out: &Bound<'_, PyAny>,
    stream: Option<isize>,
) -> PyResult<()> {
    let device = device_of(tensor)?;
    let imported = capsule::import(&device, tensor)?;
    let mut target = capsule::import(&device, out)?;
    elements::permute_into(&imported, &axes, &mut target).map_err(refused)?;
    capsule::release(imported, stream)?;
    capsule::release(target, stream)
}

/// Axes of tensors of other libraries in another order.
#[pymodule]
fn transpose_dlpack(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Array>()?;
    module.add_function(wrap_pyfunction!(permuted, module)?)?;
    module.add_function(wrap_pyfunction!(permute_into, module)?)
}

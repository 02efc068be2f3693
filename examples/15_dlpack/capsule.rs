//! Capsules: how Python passes a managed tensor on, and how it says whose it is.

use crate::{refused, stream};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::CStr;
use std::ptr::NonNull;
use transpose::Device;
use transpose::interop::dlpack::{DLManagedTensor, DLManagedTensorVersioned, Imported};

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const USED_LEGACY: &CStr = c"used_dltensor";

/// Takes a tensor from its library, which has the device's stream wait for what it has queued.
pub fn import(device: &Device, tensor: &Bound<'_, PyAny>) -> PyResult<Imported> {
    let options = PyDict::new(tensor.py());
    if let Some(stream) = device.cuda_stream() {
        options.set_item("stream", stream.addr())?;
    }
    options.set_item("max_version", (1, 0))?;
    let capsule = match tensor.call_method("__dlpack__", (), Some(&options)) {
        // Libraries of before DLPack 1 do not know the word.
        Err(error) if error.is_instance_of::<PyTypeError>(tensor.py()) => {
            options.del_item("max_version")?;
            tensor.call_method("__dlpack__", (), Some(&options))?
        }
        answer => answer?,
    };
    let object = capsule.as_ptr();
    // SAFETY: the object lives; a capsule of one of these names holds that structure, and its new name tells that it was taken. What
    // the tensor's library has queued is ordered before the device's stream, and it owns the memory until the deleter is called;
    // that nobody else writes it meanwhile is for the Python program to see to.
    unsafe {
        if ffi::PyCapsule_IsValid(object, VERSIONED.as_ptr()) != 0 {
            let managed = ffi::PyCapsule_GetPointer(object, VERSIONED.as_ptr());
            ffi::PyCapsule_SetName(object, USED_VERSIONED.as_ptr());
            Imported::from_raw(device, managed.cast()).map_err(refused)
        } else if ffi::PyCapsule_IsValid(object, LEGACY.as_ptr()) != 0 {
            let managed = ffi::PyCapsule_GetPointer(object, LEGACY.as_ptr());
            ffi::PyCapsule_SetName(object, USED_LEGACY.as_ptr());
            Imported::from_raw_legacy(device, managed.cast()).map_err(refused)
        } else {
            Err(PyBufferError::new_err("what __dlpack__ returned is no capsule of a tensor"))
        }
    }
}

/// Gives a tensor back to its library, whose stream waits for the device; without a stream, or with none that is in any order (-1), the call waits.
pub fn release(imported: Imported, number: Option<isize>) -> PyResult<()> {
    // A library that orders nothing itself (-1) has to find all done.
    const UNORDERED: isize = -1;
    if number.is_some_and(|number| number != UNORDERED) {
        // SAFETY: the caller of the module says that its library works on that stream.
        unsafe { imported.release_on(stream(number)?).map_err(refused)? };
    }
    Ok(())
}

/// A capsule of a managed tensor.
pub fn versioned(
    py: Python<'_>,
    managed: NonNull<DLManagedTensorVersioned>,
) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the name says what the pointer is; the destructor is made for that name.
    unsafe {
        let capsule =
            ffi::PyCapsule_New(managed.as_ptr().cast(), VERSIONED.as_ptr(), Some(free_versioned));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// A capsule of a managed tensor of before DLPack 1.
pub fn legacy(py: Python<'_>, managed: NonNull<DLManagedTensor>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: as above.
    unsafe {
        let capsule =
            ffi::PyCapsule_New(managed.as_ptr().cast(), LEGACY.as_ptr(), Some(free_legacy));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// Frees the tensor of a capsule that nobody has taken.
unsafe extern "C" fn free_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, with the capsule; a capsule of this name holds that structure.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            let managed: *mut DLManagedTensorVersioned =
                ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast();
            if let Some(delete) = (*managed).deleter {
                delete(managed);
            }
        }
    }
}

/// Frees the tensor of a capsule that nobody has taken.
unsafe extern "C" fn free_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) != 0 {
            let managed: *mut DLManagedTensor =
                ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()).cast();
            if let Some(delete) = (*managed).deleter {
                delete(managed);
            }
        }
    }
}

//! What stands in for a driver function that is not there.

use core::ffi::{CStr, c_char, c_void};

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: u32 = 1;

/// The address of a function that refuses calls of `name`.
///
/// Asking what an error means must not fail itself: cust's `Display` for its errors asks
/// the driver, and its `to_string()` panics when the driver gives no answer.
pub(super) fn address(name: &str) -> *mut c_void {
    match name {
        "cuGetErrorString" => error_string as *mut c_void,
        "cuGetErrorName" => error_name as *mut c_void,
        _ => refuse as *mut c_void,
    }
}

/// Called with whatever arguments the missing function takes. In the C calling conventions
/// of every supported target the caller cleans up after its arguments, so ignoring them is
/// harmless.
pub(super) extern "C" fn refuse() -> u32 {
    NO_DEVICE
}

pub(super) extern "C" fn error_string(code: u32, text: *mut *const c_char) -> u32 {
    answer(
        text,
        match code {
            NO_DEVICE => c"no CUDA driver, or one without the function called",
            _ => c"no CUDA driver that could explain the error",
        },
    )
}

pub(super) extern "C" fn error_name(code: u32, text: *mut *const c_char) -> u32 {
    answer(
        text,
        match code {
            NO_DEVICE => c"CUDA_ERROR_NO_DEVICE",
            _ => c"CUDA_ERROR_UNKNOWN",
        },
    )
}

fn answer(text: *mut *const c_char, with: &'static CStr) -> u32 {
    if text.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and the C signature of both callers obliges whoever calls them to
    // pass a place for a pointer.
    unsafe { text.write(with.as_ptr()) };
    0
}

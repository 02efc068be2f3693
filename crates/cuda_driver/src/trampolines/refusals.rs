//! Stands in for `jumps.rs` on a target without a CUDA driver: every `cu*` symbol is
//! there, so that programs link and start, and every one of them refuses.

use core::ffi::{c_char, c_void};

use super::refusal;
use super::symbols::for_each_symbol;

macro_rules! define {
    ($($name:ident)*) => { $(define_one! { $name })* };
}

macro_rules! define_one {
    (cuGetErrorString) => {
        #[unsafe(no_mangle)]
        extern "C" fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32 {
            refusal::error_string(code, text)
        }
    };
    (cuGetErrorName) => {
        #[unsafe(no_mangle)]
        extern "C" fn cuGetErrorName(code: u32, text: *mut *const c_char) -> u32 {
            refusal::error_name(code, text)
        }
    };
    ($name:ident) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> u32 {
            refusal::refuse()
        }
    };
}

#[allow(non_snake_case)]
mod symbols {
    use super::*;
    for_each_symbol!(define);
}

/// There are no slots to fill.
pub(super) fn fill(_address: impl Fn(&'static str) -> *mut c_void) {}

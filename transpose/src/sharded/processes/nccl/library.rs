//! NCCL's functions, looked up when they are first needed, with `ncclResult_t` as an integer.
//!
//! cudarc binds NCCL too, opened at run time; but it makes a Rust enum of the answers, which is undefined for those of newer versions, and ends
//! the program where the library is missing. So the few functions needed are bound here, as `cuda_driver` binds the driver's.

#![allow(non_snake_case, reason = "the names are NCCL's")]

use super::super::opened::{functions, why};
use crate::{Error, Result};
use libloading::Library;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// An `ncclComm_t`.
pub(super) type RawComm = *mut c_void;

/// An `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct UniqueId(pub [u8; ID_BYTES]);

/// `NCCL_UNIQUE_ID_BYTES`.
pub(super) const ID_BYTES: usize = 128;

/// `ncclSuccess`.
const SUCCESS: c_int = 0;

/// `ncclInt8`: bytes are bytes.
pub(super) const BYTES: c_int = 0;

functions! {
    ncclGetUniqueId(id: *mut UniqueId);
    ncclCommInitRank(comm: *mut RawComm, size: c_int, id: UniqueId, rank: c_int);
    ncclCommGetAsyncError(comm: RawComm, state: *mut c_int);
    ncclCommCount(comm: RawComm, size: *mut c_int);
    ncclCommUserRank(comm: RawComm, rank: *mut c_int);
    ncclCommAbort(comm: RawComm);
    ncclCommDestroy(comm: RawComm);
    ncclGroupStart();
    ncclGroupEnd();
    ncclSend(from: *const c_void, count: usize, element: c_int, peer: c_int, comm: RawComm, stream: *mut c_void);
    ncclRecv(to: *mut c_void, count: usize, element: c_int, peer: c_int, comm: RawComm, stream: *mut c_void);
}

impl Functions {
    /// What an answer means.
    pub fn answer(&self, operation: &'static str, code: c_int) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        type Text = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: an exported function of that name has this type in nccl.h.
        let text = unsafe { self.library.get::<Text>(b"ncclGetErrorString\0") };
        // SAFETY: NCCL takes any number, and gives a text that stays, or none.
        let text = text.ok().map(|text| unsafe { text(code) }).filter(|text| !text.is_null());
        // SAFETY: it is one of C's.
        let text = text.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        let text = text.unwrap_or_default();
        Err(Error::Nccl { operation, code, text })
    }
}

/// NCCL: the library that `NCCL_LIBRARY` names, or else the system's.
///
/// # Errors
/// [`Error::Nccl`] with what the dynamic loader says of each name.
pub(super) fn library() -> Result<&'static Functions> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let opened = FUNCTIONS.get_or_init(|| {
        let names: Vec<OsString> = match std::env::var_os("NCCL_LIBRARY") {
            Some(name) => vec![name],
            None => vec!["libnccl.so.2".into(), "libnccl.so".into()],
        };
        let mut tried = Vec::new();
        for name in names {
            // SAFETY: the library is NCCL's, whose initialisers ask for nothing.
            match unsafe { Library::new(&name) } {
                Ok(library) => return Functions::of(library),
                Err(error) => tried.push(why(&error)),
            }
        }
        Err(tried.join("; "))
    });
    opened.as_ref().map_err(|text| Error::Nccl { operation: "dlopen", code: 0, text: text.clone() })
}

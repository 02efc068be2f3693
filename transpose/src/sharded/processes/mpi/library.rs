//! Open MPI's functions and the addresses of what it has made, looked up when they are first needed.
//!
//! The crate `mpi` binds MPI when it is built: with a compiler for C, MPI's headers and libclang, and the programs do not start without MPI. What a transport
//! needs is a dozen functions, which other implementations have too; but MPI says nothing of what a communicator or a type *is*, so this is for Open MPI,
//! where they are addresses.

#![allow(non_snake_case, reason = "the names are MPI's")]

use super::super::opened::{functions, why};
use crate::{Error, Result};
use libloading::Library;
use std::ffi::{OsString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// An `MPI_Comm`, `MPI_Datatype`, `MPI_Errhandler` or `MPI_Request` of Open MPI's.
pub(super) type Raw = *mut c_void;

/// `MPI_THREAD_SERIALIZED`: any thread calls, one at a time.
pub(super) const SERIALIZED: c_int = 2;

/// `MPI_STATUSES_IGNORE`.
pub(super) const NO_STATUSES: *mut c_void = std::ptr::null_mut();

functions! {
    MPI_Initialized(flag: *mut c_int);
    MPI_Finalized(flag: *mut c_int);
    MPI_Init_thread(argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int);
    MPI_Query_thread(provided: *mut c_int);
    MPI_Finalize();
    MPI_Comm_rank(comm: Raw, rank: *mut c_int);
    MPI_Comm_size(comm: Raw, size: *mut c_int);
    MPI_Comm_dup(comm: Raw, new: *mut Raw);
    MPI_Comm_free(comm: *mut Raw);
    MPI_Comm_set_errhandler(comm: Raw, handler: Raw);
    MPI_Isend(from: *const c_void, count: c_int, of: Raw, peer: c_int, tag: c_int, comm: Raw, request: *mut Raw);
    MPI_Irecv(to: *mut c_void, count: c_int, of: Raw, peer: c_int, tag: c_int, comm: Raw, request: *mut Raw);
    MPI_Ibcast(bytes: *mut c_void, count: c_int, of: Raw, root: c_int, comm: Raw, request: *mut Raw);
    MPI_Get_processor_name(name: *mut c_char, length: *mut c_int);
    MPI_Testall(count: c_int, requests: *mut Raw, flag: *mut c_int, statuses: *mut c_void);
}

impl Functions {
    /// What an answer means.
    pub fn answer(&self, operation: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        type Text = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
        /// More than `MPI_MAX_ERROR_STRING`.
        const MOST: usize = 1024;
        let (mut bytes, mut length) = ([0u8; MOST], 0);
        // SAFETY: an exported function of that name has this type in mpi.h, and writes no more bytes than there are.
        unsafe {
            if let Ok(text) = self.library.get::<Text>(b"MPI_Error_string\0") {
                text(code, bytes.as_mut_ptr().cast(), &mut length);
            }
        }
        let text = &bytes[..usize::try_from(length).unwrap_or(0).min(MOST)];
        Err(Error::Mpi { operation, code, text: String::from_utf8_lossy(text).into_owned() })
    }

    /// Something that Open MPI has made: its name is where it is.
    fn made(&self, name: &'static str) -> Result<Raw> {
        // SAFETY: only the address is taken.
        let found = unsafe { self.library.get::<Raw>(name.as_bytes()) };
        found.map(|found| *found).map_err(|error| missing(why(&error)))
    }

    /// `MPI_COMM_WORLD`.
    pub fn world(&self) -> Result<Raw> {
        self.made("ompi_mpi_comm_world\0")
    }

    /// `MPI_BYTE`.
    pub fn bytes(&self) -> Result<Raw> {
        self.made("ompi_mpi_byte\0")
    }

    /// `MPI_ERRORS_RETURN`.
    pub fn errors_return(&self) -> Result<Raw> {
        self.made("ompi_mpi_errors_return\0")
    }
}

fn missing(text: String) -> Error {
    Error::Mpi { operation: "dlopen", code: 0, text }
}

/// Open MPI: the library that `MPI_LIBRARY` names, or else the system's.
///
/// # Errors
/// [`Error::Mpi`] with what the dynamic loader says of each name.
pub(super) fn library() -> Result<&'static Functions> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let opened = FUNCTIONS.get_or_init(|| {
        let names: Vec<OsString> = match std::env::var_os("MPI_LIBRARY") {
            Some(name) => vec![name],
            None => vec!["libmpi.so.40".into(), "libmpi.so".into()],
        };
        let mut tried = Vec::new();
        for name in names {
            match open(&name) {
                Ok(library) => return Functions::of(library),
                Err(error) => tried.push(error),
            }
        }
        Err(tried.join("; "))
    });
    opened.as_ref().map_err(|text| missing(text.clone()))
}

/// Opens a library for all others to see: Open MPI's own parts look for it.
#[cfg(unix)]
fn open(name: &OsString) -> Result<Library, String> {
    use libloading::os::unix;
    // SAFETY: the library is MPI's, whose initialisers ask for nothing.
    let opened = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | unix::RTLD_GLOBAL) };
    opened.map(Library::from).map_err(|error| why(&error))
}

#[cfg(not(unix))]
fn open(name: &OsString) -> Result<Library, String> {
    Err(format!("{}: Open MPI is for Unix", name.display()))
}

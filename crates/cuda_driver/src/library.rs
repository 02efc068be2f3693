//! Finds and opens the driver library, once per process.

use std::ffi::{CStr, OsStr, OsString, c_char, c_void};
use std::sync::OnceLock;

use crate::error::{Attempt, Error};

/// Names a library file to open in place of the system's driver.
const OVERRIDE: &str = "CUDA_DRIVER_LIBRARY";

/// The names to try. Not plain `libcuda.so`: where only that exists it is a toolkit's stub,
/// which opens and then refuses everything.
#[cfg(not(target_os = "windows"))]
const NAMES: &[&str] = &[
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1", // Windows Subsystem for Linux
    "/run/opengl-driver/lib/libcuda.so.1", // NixOS
];
#[cfg(target_os = "windows")]
const NAMES: &[&str] = &["nvcuda.dll"];

/// The opened driver library. Never closed: addresses in it are kept, and its strings handed out.
pub(crate) struct Library {
    /// The name it was opened under.
    pub(crate) name: String,
    library: libloading::Library,
}

impl Library {
    /// The address of an exported function.
    pub(crate) fn symbol(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: the pointer is only handed on; whoever calls it answers for its type.
        let symbol = unsafe { self.library.get::<*const c_void>(name.as_bytes()) }.ok()?;
        Some(*symbol).filter(|address| !address.is_null())
    }

    /// What `cuGetErrorName` or `cuGetErrorString` answers for a result code; `None` for a code that
    /// the driver does not know.
    pub(crate) fn explain(&self, function: &'static str, code: u32) -> Option<&'static str> {
        type Explain = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
        let address = self.symbol(function)?;
        // SAFETY: both functions have had this type since they came, with CUresult as an integer.
        let explain: Explain = unsafe { std::mem::transmute(address) };
        let mut text = std::ptr::null();
        // SAFETY: `text` is a place for a pointer. It stays null, or becomes null, for an unknown code.
        unsafe { explain(code, &mut text) };
        if text.is_null() {
            return None;
        }
        // SAFETY: the driver answered with a C string of its own, and is never closed.
        unsafe { CStr::from_ptr::<'static>(text) }.to_str().ok()
    }
}

/// The driver library; the first call opens it, with or without success.
pub(crate) fn open() -> Result<&'static Library, &'static Error> {
    static LIBRARY: OnceLock<Result<Library, Error>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref()
}

impl Error {
    /// The answer `code` of `function`, in the driver's words.
    pub fn call(function: &'static str, code: u32) -> Self {
        let explain = |by| open().ok().and_then(|library| library.explain(by, code));
        let (name, text) = (explain("cuGetErrorName"), explain("cuGetErrorString"));
        Error::Call { function, code, name, text }
    }
}

fn find() -> Result<Library, Error> {
    if cfg!(not(driver_target)) {
        return Err(Error::UnsupportedTarget {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
        });
    }
    let mut tried = Vec::new();
    for name in names() {
        match try_open(&name) {
            Ok(library) => return Ok(library),
            Err(attempt) => tried.push(attempt),
        }
    }
    Err(Error::NoLibrary { tried })
}

/// An empty override counts as none; `dlopen("")` would open the program itself.
fn names() -> Vec<OsString> {
    match std::env::var_os(OVERRIDE) {
        Some(name) if !name.is_empty() => vec![name],
        _ => NAMES.iter().map(OsString::from).collect(),
    }
}

fn try_open(name: &OsStr) -> Result<Library, Attempt> {
    let shown = name.to_string_lossy().into_owned();
    // SAFETY: opening a library runs its initialisers. Those of the driver are made to be
    // run in any process, as linking with it would have done; a file that the user names
    // in place of it is the user's to answer for.
    match unsafe { libloading::Library::new(name) } {
        Ok(library) => Ok(Library { name: shown, library }),
        Err(error) => Err(Attempt { name: shown, reason: message(&error) }),
    }
}

/// The dynamic loader's own words, which libloading keeps as the error's source.
fn message(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

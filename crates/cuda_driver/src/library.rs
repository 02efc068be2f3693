//! Finds and opens the driver library, once per process.

use std::ffi::{OsStr, OsString, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{Attempt, Error};
use crate::{refusal, slots};

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

/// The opened driver library. Never closed: its functions stay in the slots.
pub(crate) struct Driver {
    /// The name it was opened under.
    pub(crate) name: String,
    library: Library,
}

impl Driver {
    /// The address of an exported function.
    pub(crate) fn symbol(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: the pointer is only handed on; whoever calls it answers for its type.
        let symbol = unsafe { self.library.get::<*const c_void>(name.as_bytes()) }.ok()?;
        Some(*symbol).filter(|address| !address.is_null())
    }
}

/// The driver; the first call opens it and fills the slots, with or without success.
pub(crate) fn open() -> Result<&'static Driver, &'static Error> {
    static DRIVER: OnceLock<Result<Driver, Error>> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            let driver = find();
            slots::fill(|name| {
                let found = driver.as_ref().ok().and_then(|d| d.symbol(name));
                found.map_or_else(|| refusal::address(name), <*const c_void>::cast_mut)
            });
            driver
        })
        .as_ref()
}

fn find() -> Result<Driver, Error> {
    if cfg!(not(driver_target)) {
        return Err(Error::UnsupportedTarget {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
        });
    }
    let mut tried = Vec::new();
    for name in names() {
        match try_open(&name) {
            Ok(driver) => return Ok(driver),
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

fn try_open(name: &OsStr) -> Result<Driver, Attempt> {
    let shown = name.to_string_lossy().into_owned();
    // SAFETY: opening a library runs its initialisers. Those of the driver are made to be
    // run in any process, as linking with it would have done; a file that the user names
    // in place of it is the user's to answer for.
    match unsafe { Library::new(name) } {
        Ok(library) => Ok(Driver { name: shown, library }),
        Err(error) => Err(Attempt { name: shown, reason: message(&error) }),
    }
}

/// The dynamic loader's own words, which libloading keeps as the error's source.
fn message(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

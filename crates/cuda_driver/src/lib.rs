//! The CUDA driver, bound at run time.
//!
//! [cust] and every other user of `cust_raw` link with `libcuda`, so a program built on
//! them needs a CUDA toolkit to build and an NVIDIA driver to *start*. With this crate in
//! the program neither is so: it defines each function that `cust_raw` declares, opens the
//! driver library of the machine when the first of them is called, and passes the calls
//! on. Where there is no driver each call returns `CUDA_ERROR_NO_DEVICE`, which cust
//! reports as `CudaError::NoDevice`.
//!
//! ```
//! match cuda_driver::available() {
//!     Ok(version) => println!("CUDA {version}; cust can be used"),
//!     Err(error) => println!("no GPU: {error}"),
//! }
//! ```
//!
//! # Using it in a project of your own
//!
//! Two things besides the dependency:
//!
//! 1. **Mention the crate.** A dependency that no code names is not linked, and `cuInit` and
//!    the others are then undefined. A call of [`available`] is enough, and so is
//!
//!    ```
//!    use cuda_driver as _;
//!    ```
//!
//! 2. **Satisfy cust's build scripts.** `cust` and `cust_raw` stop the build with "Could not
//!    find a cuda installation" unless they see a folder named `lib64` in a place where
//!    toolkits are: `/usr/local/cuda`, `/opt/cuda`, or what `CUDA_LIBRARY_PATH` names. On a
//!    machine without a toolkit give them an empty archive to find,
//!
//!    ```text
//!    mkdir -p cuda/lib64 && printf '!<arch>\n' > cuda/lib64/libcuda.a
//!    ```
//!
//!    commit it, and name its folder in the project's `.cargo/config.toml`:
//!
//!    ```text
//!    [env]
//!    CUDA_LIBRARY_PATH = { value = "cuda", relative = true }
//!    ```
//!
//!    Here `relative` means relative to the folder that holds `.cargo`. (On Windows cust looks
//!    for `include/cuda.h` and `lib/x64` in the folder that `CUDA_PATH` names instead.)
//!
//! No crate can do the second for you: the check is in the build scripts of `cust` and
//! `cust_raw`, which do not depend on this crate, so cargo runs them without regard to
//! anything that a build script here could set.
//!
//! # Which library is opened
//!
//! On Linux `libcuda.so.1` by the dynamic loader's usual rules, then where WSL and NixOS keep
//! it; on Windows `nvcuda.dll`. The environment variable **`CUDA_DRIVER_LIBRARY`** names
//! another file to open instead, and nothing else is tried then. A path that does not exist
//! makes the program behave as on a machine without a driver. The choice is made once, at
//! the first call.
//!
//! # Targets
//!
//! x86-64 and 64-bit Arm on Linux; x86-64 on Windows, which compiles but has not been run.
//! For every other target the functions are defined too, and refuse.
//!
//! [cust]: https://docs.rs/cust/0.3.2

mod error;
mod library;
mod refusal;
#[cfg_attr(driver_target, path = "trampolines.rs")]
#[cfg_attr(not(driver_target), path = "no_trampolines.rs")]
mod slots;
mod symbols;
mod version;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

pub use error::{Attempt, Error};
pub use version::DriverVersion;

use library::Driver;

/// Initialises the driver (`cuInit`) and returns its version.
///
/// Success says that there is a driver and at least one GPU. It may be called at any time,
/// any number of times.
///
/// # Errors
/// [`Error::NoLibrary`] with each name tried and the dynamic loader's message,
/// [`Error::NotADriver`], [`Error::UnsupportedTarget`], or [`Error::Call`] with the result of
/// a `cuInit` that failed: 100 where no GPU is visible, 34 for a toolkit's stub library.
pub fn available() -> Result<DriverVersion, Error> {
    let driver = library::open().map_err(Error::clone)?;
    init(driver)?;
    version_of(driver)
}

/// The newest version of CUDA that the driver supports. Does not initialise the driver and
/// needs no GPU.
///
/// # Errors
/// As for [`available`].
pub fn driver_version() -> Result<DriverVersion, Error> {
    version_of(library::open().map_err(Error::clone)?)
}

/// The address of a driver function that `cust_raw` does not declare, `cuLaunchKernelEx`
/// for one; `None` if this driver is too old for it or there is no driver.
///
/// The name is the exported one, with its `_v2` where the function has several versions.
/// The address stays valid for the life of the process. Calling it takes a `transmute` to
/// the function's type, as `cuda.h` has it:
///
/// ```
/// use std::ffi::c_int;
///
/// if let Some(address) = cuda_driver::symbol("cuDriverGetVersion") {
///     // SAFETY: this is the function's type in cuda.h, with CUresult as an integer.
///     let get_version: unsafe extern "C" fn(*mut c_int) -> u32 =
///         unsafe { std::mem::transmute(address) };
///     let mut version = 0;
///     // SAFETY: `version` is a place for an integer.
///     let result = unsafe { get_version(&mut version) };
///     println!("{result} {version}");
/// }
/// ```
pub fn symbol(name: &str) -> Option<*const c_void> {
    library::open().ok()?.symbol(name)
}

fn init(driver: &Driver) -> Result<(), Error> {
    const NAME: &str = "cuInit";
    let address = required(driver, NAME)?;
    // SAFETY: the driver API has had this signature since its first version.
    let init: unsafe extern "C" fn(c_uint) -> u32 = unsafe { std::mem::transmute(address) };
    // SAFETY: 0 is the one permitted flag; the function may be called again and at any time.
    succeeded(driver, NAME, unsafe { init(0) })
}

fn version_of(driver: &Driver) -> Result<DriverVersion, Error> {
    const NAME: &str = "cuDriverGetVersion";
    let address = required(driver, NAME)?;
    // SAFETY: the driver API has had this signature since its first version.
    let get: unsafe extern "C" fn(*mut c_int) -> u32 = unsafe { std::mem::transmute(address) };
    let mut version = 0;
    // SAFETY: `version` is a place for an integer; the function needs no `cuInit`.
    succeeded(driver, NAME, unsafe { get(&mut version) })?;
    Ok(DriverVersion::decode(version))
}

fn required(driver: &Driver, symbol: &'static str) -> Result<*const c_void, Error> {
    driver.symbol(symbol).ok_or_else(|| Error::NotADriver { library: driver.name.clone(), symbol })
}

fn succeeded(driver: &Driver, function: &'static str, code: u32) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        _ => Err(Error::Call {
            library: driver.name.clone(),
            function,
            code,
            meaning: meaning(driver, code),
        }),
    }
}

/// The driver's own words for a result code.
fn meaning(driver: &Driver, code: u32) -> String {
    let mut text: *const c_char = std::ptr::null();
    if let Some(address) = driver.symbol("cuGetErrorString") {
        // SAFETY: the driver API has had this signature since the function came, with
        // CUresult as an integer.
        let explain: unsafe extern "C" fn(u32, *mut *const c_char) -> u32 =
            unsafe { std::mem::transmute(address) };
        // SAFETY: `text` is a place for a pointer. It is left null for an unknown code.
        unsafe { explain(code, &mut text) };
    }
    if text.is_null() {
        return "no explanation from the driver".into();
    }
    // SAFETY: the driver answered with a C string that lives as long as the library.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

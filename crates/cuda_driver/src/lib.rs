//! The CUDA driver: opened at run time, typed, its answers integers.
//!
//! A program with this crate in it needs no CUDA toolkit to build and no NVIDIA driver to start; it
//! learns at the first call whether there is a GPU.
//!
//! ```
//! use cuda_driver::{Context, Driver, Stream};
//!
//! fn free_memory() -> Result<usize, cuda_driver::Error> {
//!     let context = Context::primary(Driver::get()?.device(0)?)?;
//!     let stream = Stream::new(&context)?;
//!     stream.synchronize()?;
//!     Ok(context.memory_info()?.free)
//! }
//!
//! match free_memory() {
//!     Ok(bytes) => println!("{bytes} bytes are free"),
//!     Err(error) => println!("no GPU: {error}"),
//! }
//! ```
//!
//! # What holds for every operation
//! - **An answer is an integer.** Drivers newer than this crate answer with codes that it has never
//!   heard of; they come back in [`Error::Call`] with the name and the text that the driver itself has
//!   for them. No Rust enum is made from an integer of the driver.
//! - **The calling thread's current context stays what it was** (see [`Context::enter`]), whatever fails.
//! - **What is owned is given back**, in order and on whatever thread: a stream, an event, a module and
//!   a pool keep their context, a function keeps its module.
//!
//! # What is here
//! | | |
//! |---|---|
//! | [`Driver`], [`Device`] | what there is |
//! | [`Context`] | memory of the device and of the host |
//! | [`MemoryPool`] | memory in the order of a stream |
//! | [`MemoryHandle`], [`OpenedMemory`] | memory that processes of one host share |
//! | [`Stream`], [`Event`] | copies, kernels, order, time |
//! | [`Graph`] | work that is queued again as a whole |
//! | [`Module`], [`Function`], [`LaunchConfig`] | kernels |
//!
//! It is what the library `transpose` needs, and no more; [`symbol`] finds every other function. The
//! oldest driver that will do is one of CUDA 11.0. What came later is left out or replaced where the driver
//! lacks it, as said at each.
//!
//! # Which library is opened
//!
//! On Linux `libcuda.so.1` by the dynamic loader's usual rules, then where WSL and NixOS keep
//! it; on Windows `nvcuda.dll`. The environment variable **`CUDA_DRIVER_LIBRARY`** names
//! another file to open instead, and nothing else is tried then. A path that does not exist
//! makes the program behave as on a machine without a driver. The choice is made once, at
//! the first call. x86-64 and 64-bit Arm on Linux; x86-64 on Windows, which compiles but has not
//! been run.
//!
//! # With `cust` in the same program: the feature `trampolines`
//!
//! [cust] and every other user of `cust_raw` link with `libcuda`, so a program built on
//! them needs a CUDA toolkit to build and an NVIDIA driver to *start*. With the feature neither
//! is so: it defines each function that `cust_raw` declares and passes the calls on to the library
//! opened here. Where there is no driver each call returns `CUDA_ERROR_NO_DEVICE`, which cust
//! reports as `CudaError::NoDevice`. Two things besides the dependency:
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
//! [cust]: https://docs.rs/cust/0.3.2

#![deny(clippy::missing_errors_doc)]

mod context;
mod device;
mod driver;
mod error;
mod event;
mod functions;
mod graph;
mod handle;
mod launch;
mod library;
mod memory;
mod memory_pool;
mod module;
mod shared_memory;
mod stream;
#[cfg(feature = "trampolines")]
mod trampolines;
mod version;

use std::ffi::c_void;

pub use context::{Context, Current};
pub use device::{Device, DeviceAttribute};
pub use driver::Driver;
pub use error::{Attempt, Error};
pub use event::Event;
pub use graph::Graph;
pub use handle::{
    DeviceAddress, RawContext, RawDevice, RawEvent, RawFunction, RawGraph, RawGraphExec,
    RawMemoryPool, RawModule, RawStream,
};
pub use launch::{LaunchConfig, Start};
pub use memory::{HostMemoryFlags, MemoryInfo};
pub use memory_pool::MemoryPool;
pub use module::{Function, FunctionAttribute, Module};
pub use shared_memory::{MemoryHandle, OpenedMemory};
pub use stream::{DeviceRows, RowsShape, Stream};
pub use version::DriverVersion;

/// Initialises the driver and returns its version.
///
/// Success says that there is a driver and at least one GPU. It may be called at any time,
/// any number of times.
///
/// # Errors
/// Those of [`Driver::get`].
pub fn available() -> Result<DriverVersion, Error> {
    Driver::get()?.version()
}

/// The newest version of CUDA that the driver supports. Does not initialise the driver and
/// needs no GPU.
///
/// # Errors
/// [`Error::NoLibrary`], [`Error::NotADriver`], [`Error::UnsupportedTarget`], and what the driver answers.
pub fn driver_version() -> Result<DriverVersion, Error> {
    Driver::opened()?.version()
}

/// The address of a driver function that is not typed here; `None` if this driver is too old for it
/// or there is no driver.
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

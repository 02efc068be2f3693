//! cuTENSOR's permutation, opened at run time where there is a libcutensor: NVIDIA's own library for moving
//! elements from one order to another.

use super::libraries;
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_void};
use std::path::Path;
use transpose::Device;

/// The name of the libraries of its second version, whose functions these are.
const NAME: &str = "libcutensor.so.2";

/// What it needs, of either toolkit: the loader takes what is open already, wherever that is.
const NEEDED: [&str; 2] = ["libcublasLt.so.13", "libcublasLt.so.12"];

type Pointer = *mut c_void;
type Status = c_int;
type CreateTensor =
    unsafe extern "C" fn(Pointer, *mut Pointer, u32, *const i64, *const i64, c_int, u32) -> Status;
type CreatePermutation = unsafe extern "C" fn(
    Pointer,
    *mut Pointer,
    Pointer,
    *const i32,
    c_int,
    Pointer,
    *const i32,
    Pointer,
) -> Status;
type CreatePreference = unsafe extern "C" fn(Pointer, *mut Pointer, c_int, c_int) -> Status;
type CreatePlan = unsafe extern "C" fn(Pointer, *mut Pointer, Pointer, Pointer, u64) -> Status;
type Permute = unsafe extern "C" fn(
    Pointer,
    Pointer,
    *const c_void,
    *const c_void,
    Pointer,
    Pointer,
) -> Status;

/// A cuTENSOR handle, and a device's stream. The handle is never destroyed: the process ends with it.
pub struct Cutensor {
    library: Library,
    handle: Pointer,
    stream: Pointer,
}

/// The permutation of a contiguous array, planned. Never destroyed either.
pub struct Permutation<'a> {
    cutensor: &'a Cutensor,
    permute: Symbol<'a, Permute>,
    plan: Pointer,
    /// The factor 1 of the elements' type, or of its real part.
    one: [f64; 2],
}

impl Cutensor {
    /// The library of a file, or the one that is found; or why there is none.
    ///
    /// # Errors
    /// No such library, no GPU, or a refusal by cuTENSOR.
    pub fn open(device: &Device, file: Option<&Path>) -> Result<Self, String> {
        let stream = device.cuda_stream().ok_or("not on a GPU")?;
        for name in NEEDED {
            if let Ok(needed) = libraries::open(&[name]) {
                // It stays open as long as the program runs.
                std::mem::forget(needed);
            }
        }
        let library = file.map_or_else(|| libraries::open(&[NAME]), libraries::open_file)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the function has this signature.
        let status = unsafe {
            let create: Symbol<unsafe extern "C" fn(*mut Pointer) -> Status> =
                library.get(b"cutensorCreate").map_err(|error| error.to_string())?;
            create(&mut handle)
        };
        match status {
            0 => Ok(Cutensor { library, handle, stream }),
            _ => Err(format!("cuTENSOR answered {status}")),
        }
    }

    /// Plans the permutation of a contiguous row-major array, axis `i` of the result being axis `axes[i]` of it, its elements
    /// taken for floating-point numbers: halves, singles, doubles, or complex doubles. `None` for elements of other sizes, or if
    /// cuTENSOR refuses.
    pub fn permutation(
        &self,
        element_bytes: usize,
        shape: &[usize],
        axes: &[usize],
    ) -> Option<Permutation<'_>> {
        let (data_type, compute, one) = match element_bytes {
            2 => (2, "CUTENSOR_COMPUTE_DESC_32F", single(1.0)),
            4 => (0, "CUTENSOR_COMPUTE_DESC_32F", single(1.0)),
            8 => (1, "CUTENSOR_COMPUTE_DESC_64F", [1.0, 0.0]),
            16 => (5, "CUTENSOR_COMPUTE_DESC_64F", [1.0, 0.0]),
            _ => return None,
        };
        let lengths: Vec<i64> = shape.iter().map(|&length| length as i64).collect();
        let permuted: Vec<i64> = axes.iter().map(|&axis| lengths[axis]).collect();
        let (src, dst) = (self.tensor(&lengths, data_type)?, self.tensor(&permuted, data_type)?);
        let axes: Vec<i32> = axes.iter().map(|&axis| axis as i32).collect();
        let plan = self.plan(src, dst, &axes, compute)?;
        Some(Permutation { cutensor: self, permute: self.function(b"cutensorPermute")?, plan, one })
    }

    /// Describes a contiguous row-major array.
    fn tensor(&self, shape: &[i64], data_type: c_int) -> Option<Pointer> {
        const ALIGNMENT: u32 = 256;
        let create = self.function::<CreateTensor>(b"cutensorCreateTensorDescriptor")?;
        let strides: Vec<i64> =
            (1..=shape.len()).map(|axis| shape[axis..].iter().product()).collect();
        made(|tensor| {
            // SAFETY: the function has this signature, and reads as many lengths and strides as it is told.
            unsafe {
                create(
                    self.handle,
                    tensor,
                    shape.len() as u32,
                    shape.as_ptr(),
                    strides.as_ptr(),
                    data_type,
                    ALIGNMENT,
                )
            }
        })
    }

    /// Plans the permutation of one array to another, mode `i` of which is mode `axes[i]` of it.
    fn plan(&self, src: Pointer, dst: Pointer, axes: &[i32], compute: &str) -> Option<Pointer> {
        const IDENTITY: c_int = 1;
        const DEFAULT_ALGORITHM: c_int = -1;
        let modes: Vec<i32> = (0..axes.len() as i32).collect();
        let permutation = self.function::<CreatePermutation>(b"cutensorCreatePermutation")?;
        let preference = self.function::<CreatePreference>(b"cutensorCreatePlanPreference")?;
        let plan = self.function::<CreatePlan>(b"cutensorCreatePlan")?;
        // SAFETY: the symbol is a variable of the library that holds a pointer.
        let compute = unsafe { **self.library.get::<*const Pointer>(compute.as_bytes()).ok()? };
        let (src_modes, dst_modes) = (modes.as_ptr(), axes.as_ptr());
        // SAFETY: the functions have these signatures; the pointers are those that the library made, and as many modes
        // are read as the array has axes.
        unsafe {
            let operation = made(|made| {
                permutation(self.handle, made, src, src_modes, IDENTITY, dst, dst_modes, compute)
            })?;
            let preference = made(|made| preference(self.handle, made, DEFAULT_ALGORITHM, 0))?;
            made(|made| plan(self.handle, made, operation, preference, 0))
        }
    }

    fn function<T>(&self, name: &[u8]) -> Option<Symbol<'_, T>> {
        // SAFETY: each caller names the type that the function has in cutensor.h.
        unsafe { self.library.get(name).ok() }
    }
}

impl Permutation<'_> {
    /// Queues the permutation; whether cuTENSOR took it. At both addresses there is as much memory as the array that was planned.
    pub fn run(&self, src: u64, dst: u64) -> bool {
        let (src, dst) = (src as *const c_void, dst as Pointer);
        let one = self.one.as_ptr().cast();
        let Cutensor { handle, stream, .. } = self.cutensor;
        // SAFETY: the plan is of this handle, and the matrices are live, on the stream's device, and as large as
        // planned.
        unsafe { (self.permute)(*handle, self.plan, one, src, dst, *stream) == 0 }
    }
}

/// What a function makes that writes a pointer to it, and answers 0 if it did.
fn made(make: impl FnOnce(*mut Pointer) -> Status) -> Option<Pointer> {
    let mut pointer = std::ptr::null_mut();
    (make(&mut pointer) == 0).then_some(pointer)
}

/// A single-precision number where a double-precision one may be.
fn single(number: f32) -> [f64; 2] {
    [f64::from_bits(u64::from(number.to_bits())), 0.0]
}

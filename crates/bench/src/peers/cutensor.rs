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
type CreateElementwise = unsafe extern "C" fn(
    Pointer,
    *mut Pointer,
    Pointer,
    *const i32,
    c_int,
    Pointer,
    *const i32,
    c_int,
    Pointer,
    *const i32,
    c_int,
    Pointer,
) -> Status;
type Elementwise = unsafe extern "C" fn(
    Pointer,
    Pointer,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    Pointer,
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
    /// The factor, of the type that it is computed in, or its real part.
    alpha: [f64; 2],
}

/// The sum of a permuted contiguous array, times a factor, and another one that is laid out like the result, planned.
pub struct Sum<'a> {
    cutensor: &'a Cutensor,
    execute: Symbol<'a, Elementwise>,
    plan: Pointer,
    alpha: [f64; 2],
    gamma: [f64; 2],
}

/// A type of numbers: cuTENSOR's number of it, and whether it is computed in numbers of 64 bits.
#[derive(Clone, Copy)]
struct Type {
    number: c_int,
    is_wide: bool,
}

impl Type {
    /// The type that PyTorch calls so, if cuTENSOR permutes it.
    fn named(name: &str) -> Option<Self> {
        let (number, is_wide) = match name {
            "float32" => (0, false),
            "float64" => (1, true),
            "float16" => (2, false),
            "bfloat16" => (14, false),
            "complex64" => (4, false),
            "complex128" => (5, true),
            _ => return None,
        };
        Some(Type { number, is_wide })
    }

    /// The floating-point type that an element of `bytes` bytes is taken for: halves, singles, doubles, or complex doubles.
    fn of_bytes(bytes: usize) -> Option<Self> {
        Type::named(match bytes {
            2 => "float16",
            4 => "float32",
            8 => "float64",
            16 => "complex128",
            _ => return None,
        })
    }
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
        self.permutation_of([Type::of_bytes(element_bytes)?; 2], shape, axes, 1.0)
    }

    /// Plans the permutation of an array of numbers of the type named first to numbers of the type named second, times a factor.
    pub fn scaled(
        &self,
        types: [&str; 2],
        shape: &[usize],
        axes: &[usize],
        alpha: f64,
    ) -> Option<Permutation<'_>> {
        let [from, to] = types.map(Type::named);
        self.permutation_of([from?, to?], shape, axes, alpha)
    }

    fn permutation_of(
        &self,
        types: [Type; 2],
        shape: &[usize],
        axes: &[usize],
        alpha: f64,
    ) -> Option<Permutation<'_>> {
        const IDENTITY: c_int = 1;
        let create = self.function::<CreatePermutation>(b"cutensorCreatePermutation")?;
        let [src, dst] = self.tensors(types, shape, axes)?;
        let (from, to) = modes(axes);
        let (compute, alpha) = self.compute(types, alpha)?;
        // SAFETY: the function has this signature; the pointers are those that the library made, and as many modes are read as the array has axes.
        let operation = made(|made| unsafe {
            create(self.handle, made, src, from.as_ptr(), IDENTITY, dst, to.as_ptr(), compute)
        })?;
        let plan = self.plan(operation)?;
        let permute = self.function(b"cutensorPermute")?;
        Some(Permutation { cutensor: self, permute, plan, alpha })
    }

    /// Plans the sum of a permuted array, times a factor, and what the result's memory holds.
    pub fn sum(
        &self,
        types: [&str; 2],
        shape: &[usize],
        axes: &[usize],
        alpha: f64,
    ) -> Option<Sum<'_>> {
        const IDENTITY: c_int = 1;
        const ADD: c_int = 3;
        let [from, to] = types.map(Type::named);
        let types = [from?, to?];
        let create = self.function::<CreateElementwise>(b"cutensorCreateElementwiseBinary")?;
        let [src, dst] = self.tensors(types, shape, axes)?;
        let (from, to) = modes(axes);
        let (compute, alpha) = self.compute(types, alpha)?;
        let (_, gamma) = self.compute(types, 1.0)?;
        let (from, to) = (from.as_ptr(), to.as_ptr());
        // SAFETY: the function has this signature; the pointers are those that the library made, and as many modes are read as the array has axes.
        let operation = made(|made| unsafe {
            let handle = self.handle;
            create(handle, made, src, from, IDENTITY, dst, to, IDENTITY, dst, to, ADD, compute)
        })?;
        let plan = self.plan(operation)?;
        let execute = self.function(b"cutensorElementwiseBinaryExecute")?;
        Some(Sum { cutensor: self, execute, plan, alpha, gamma })
    }

    /// Describes an array and what it is permuted to.
    fn tensors(&self, types: [Type; 2], shape: &[usize], axes: &[usize]) -> Option<[Pointer; 2]> {
        let lengths: Vec<i64> = shape.iter().map(|&length| length as i64).collect();
        let permuted: Vec<i64> = axes.iter().map(|&axis| lengths[axis]).collect();
        let [from, to] = types.map(|of| of.number);
        Some([self.tensor(&lengths, from)?, self.tensor(&permuted, to)?])
    }

    /// What is computed in, and a factor as one of that.
    fn compute(&self, types: [Type; 2], factor: f64) -> Option<(Pointer, [f64; 2])> {
        let is_wide = types.iter().any(|of| of.is_wide);
        let name: &[u8] =
            if is_wide { b"CUTENSOR_COMPUTE_DESC_64F" } else { b"CUTENSOR_COMPUTE_DESC_32F" };
        // SAFETY: the symbol is a variable of the library that holds a pointer.
        let compute = unsafe { **self.library.get::<*const Pointer>(name).ok()? };
        Some((compute, if is_wide { [factor, 0.0] } else { single(factor as f32) }))
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

    /// Plans an operation.
    fn plan(&self, operation: Pointer) -> Option<Pointer> {
        const DEFAULT_ALGORITHM: c_int = -1;
        let preference = self.function::<CreatePreference>(b"cutensorCreatePlanPreference")?;
        let plan = self.function::<CreatePlan>(b"cutensorCreatePlan")?;
        // SAFETY: the functions have these signatures; the pointers are those that the library made.
        unsafe {
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
        let alpha = self.alpha.as_ptr().cast();
        let Cutensor { handle, stream, .. } = self.cutensor;
        // SAFETY: the plan is of this handle, and the matrices are live, on the stream's device, and as large as
        // planned.
        unsafe { (self.permute)(*handle, self.plan, alpha, src, dst, *stream) == 0 }
    }
}

impl Sum<'_> {
    /// Queues the sum; whether cuTENSOR took it. Obligations are those of [`Permutation::run`].
    pub fn run(&self, src: u64, dst: u64) -> bool {
        let (src, dst) = (src as *const c_void, dst as Pointer);
        let (alpha, gamma) = (self.alpha.as_ptr().cast(), self.gamma.as_ptr().cast());
        let Cutensor { handle, stream, .. } = self.cutensor;
        // SAFETY: as of a permutation; the result may be what is added.
        unsafe { (self.execute)(*handle, self.plan, alpha, src, gamma, dst, dst, *stream) == 0 }
    }
}

/// The modes of an array, and of one whose mode `i` is its mode `axes[i]`.
fn modes(axes: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let permuted = axes.iter().map(|&axis| axis as i32).collect();
    ((0..axes.len() as i32).collect(), permuted)
}

/// What a function makes that writes a pointer to it, and answers 0 if it did.
fn made(make: impl FnOnce(*mut Pointer) -> Status) -> Option<Pointer> {
    let mut pointer = std::ptr::null_mut();
    (make(&mut pointer) == 0).then_some(pointer)
}

/// A single-precision number where a double-precision one may be.
fn single(number: f32) -> [f64; 2] {
    // A complex number's imaginary part is the upper half of the first.
    [f64::from_bits(u64::from(number.to_bits())), 0.0]
}

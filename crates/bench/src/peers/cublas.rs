//! cuBLAS's `geam`, opened at run time where there is a libcublas: the transpose that a CUDA
//! program would otherwise call.

use super::libraries;
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_void};
use transpose::{Device, DeviceMatrix};

/// The names that a libcublas may have, newest first.
const NAMES: [&str; 3] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];

/// `cublasSgeam` and `cublasDgeam`, but for the type of the scalars.
type Geam = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    *mut c_void,
    c_int,
) -> c_int;

/// A cuBLAS handle on a device's stream. It is never destroyed: the process ends with it.
pub struct Cublas {
    library: Library,
    handle: *mut c_void,
}

impl Cublas {
    /// The library, or why there is none.
    ///
    /// # Errors
    /// No library under a known name, no GPU, or a refusal by cuBLAS.
    pub fn open(device: &Device) -> Result<Self, String> {
        let stream = device.cuda_stream().ok_or("not on a GPU")?;
        Self::create(libraries::open(&NAMES)?, stream)
    }

    fn create(library: Library, stream: *mut c_void) -> Result<Self, String> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the two functions have these signatures in every version named above.
        unsafe {
            let create: Symbol<unsafe extern "C" fn(*mut *mut c_void) -> c_int> =
                library.get(b"cublasCreate_v2").map_err(|error| error.to_string())?;
            let set_stream: Symbol<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int> =
                library.get(b"cublasSetStream_v2").map_err(|error| error.to_string())?;
            for code in [create(&mut handle), set_stream(handle, stream)] {
                if code != 0 {
                    return Err(format!("cuBLAS answered {code}"));
                }
            }
        }
        Ok(Cublas { library, handle })
    }

    /// Queues the transpose of a contiguous `rows × cols` matrix in `src` to `dst`. Elements of 4 and
    /// of 8 bytes are taken for floats; `None` for others, which geam does not move.
    pub fn transpose<T>(
        &self,
        rows: usize,
        cols: usize,
        src: &DeviceMatrix<T>,
        dst: &mut DeviceMatrix<T>,
    ) -> Option<()>
    where
        T: bytemuck::Pod,
    {
        let (one, zero): (f64, f64) = (1.0, 0.0);
        let (one32, zero32): (f32, f32) = (1.0, 0.0);
        type Scalar = *const c_void;
        let (name, one, zero): (&[u8], Scalar, Scalar) = match size_of::<T>() {
            4 => (b"cublasSgeam", (&raw const one32).cast(), (&raw const zero32).cast()),
            8 => (b"cublasDgeam", (&raw const one).cast(), (&raw const zero).cast()),
            _ => return None,
        };
        let (rows, cols) = (c_int::try_from(rows).ok()?, c_int::try_from(cols).ok()?);
        let (src, dst) = (src.device_address() as Scalar, dst.device_address() as *mut c_void);
        // SAFETY: the function has this signature; both matrices are live, on the handle's stream's
        // device, and as large as given. Column-major, the result has `rows` rows.
        let code = unsafe {
            let geam: Symbol<Geam> = self.library.get(name).ok()?;
            geam(self.handle, 1, 1, rows, cols, one, src, cols, zero, src, cols, dst, rows)
        };
        (code == 0).then_some(())
    }
}

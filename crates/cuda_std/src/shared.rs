//! Shared memory: the fast memory that the threads of a block have in common.
//!
//! # How it is declared
//!
//! PTX wants a `.shared` declaration; Rust has no `static` for that address space.
//! Two ways to write the declaration in assembly were tried.
//!
//! *Inside the function*, by the `asm!` that also takes the address. The compiler
//! may emit an `asm!` any number of times: the function is inlined twice, a loop is
//! unrolled, a branch is threaded. Then ptxas sees a name declared twice and
//! refuses the module, or, with the declaration in a `{ }` scope of its own,
//! silently gives each copy an array of its own. Nothing in Rust or LLVM forbids
//! the copy.
//!
//! *At the top of the module*, by `global_asm!`. It appears once per place in the
//! source, whatever the optimizer does, and the `asm!` that takes the address is a
//! pure function of nothing: copying, merging or dropping it changes nothing. That
//! is what [`shared_array!`](crate::shared_array) does. ptxas charges an array to
//! the kernels that use it and to no other.
//!
//! The price is that a `global_asm!` is not generic, so neither length nor type may
//! mention a generic parameter of the function around it (E0401; the published
//! crate refuses that too, for the same reason: its `static` is not generic
//! either). Declare the array in the kernel and pass the pointer to generic code.
//!
//! # How it is used
//!
//! Both give a generic pointer, as in the published crate. Through it Rust emits
//! generic loads and stores, which are correct and slower than `ld.shared`. For the
//! fast ones, turn it into a shared address once, at the start of the kernel
//! (`cvta.to.shared`), and use `asm!` to access that. The way there and back costs two
//! instructions per thread, four from compute capability 9.0 on, and moves the register
//! count by two either way (ptxas 13.5, compared with naming the array directly).
//! Do not call those `asm!` statements `pure` or `nomem`: they would no longer keep
//! their order with each other and with [`sync_threads`](crate::thread::sync_threads).

#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, global_asm};

use crate::gpu_only;

/// Declares an array in shared memory and gives a pointer to it:
/// `shared_array![T; LEN]` is a `*mut T`, aligned to 16 bytes at least.
///
/// Every thread of a block gets the same array. One place in the source is one
/// array, however often it is executed or inlined; two places are two arrays, also
/// when a macro made both. `T` and `LEN` may use constants and types of the
/// function around it, but not its generic parameters. Nothing in it is ever dropped.
///
/// The memory is not initialized. Write before reading, and have a
/// [`sync_threads`](crate::thread::sync_threads) between one thread's write and
/// another thread's read.
///
/// ```
/// # use cuda_std::{prelude::*, shared_array};
/// #[kernel]
/// pub unsafe fn reverse(values: *mut u32) {
///     let buffer = shared_array![u32; 256];
///     let index = thread::thread_idx_x() as usize;
///     *buffer.add(255 - index) = *values.add(index);
///     thread::sync_threads();
///     *values.add(index) = *buffer.add(index);
/// }
/// ```
///
/// A size that no kernel can have is a compile error:
///
/// ```compile_fail,E0080
/// # use cuda_std::shared_array;
/// let too_large = shared_array![u64; 6145];
/// ```
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {
        $crate::__with_unique_name!($crate::__shared_array; $element; $len)
    };
}

/// [`shared_array!`] with the name that the array has in the PTX.
///
/// `Declared` carries size and alignment from here, where `$len` may use local
/// constants, into the inner module, where `global_asm!` is allowed.
#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "nvptx64")]
macro_rules! __shared_array {
    ($name:literal $element:ty; $len:expr) => {{
        mod declaration {
            pub struct Array;

            ::core::arch::global_asm!(
                concat!(".shared .align {} .b8 ", $name, "[{}];"),
                const <Array as $crate::shared::Declared>::ALIGN,
                const <Array as $crate::shared::Declared>::BYTES,
            );

            #[inline(always)]
            pub fn address<T>() -> *mut T {
                let address;
                // SAFETY: names the declaration above; touches no memory.
                unsafe {
                    ::core::arch::asm!(
                        concat!("mov.u64 {0}, ", $name, ";\n\tcvta.shared.u64 {0}, {0};"),
                        out(reg64) address,
                        options(pure, nomem, nostack, preserves_flags),
                    )
                }
                address
            }
        }

        impl $crate::shared::Declared for declaration::Array {
            type Element = $element;
            const LEN: usize = $len;
        }

        declaration::address::<$element>()
    }};
}

/// On the host: the types are checked, and a call panics.
#[doc(hidden)]
#[macro_export]
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! __shared_array {
    ($name:literal $element:ty; $len:expr) => {{
        struct Array;

        impl $crate::shared::Declared for Array {
            type Element = $element;
            const LEN: usize = $len;
        }

        $crate::shared::on_the_host::<Array>()
    }};
}

/// What one [`shared_array!`] declares.
#[doc(hidden)]
pub trait Declared {
    /// The `T` of `[T; LEN]`.
    type Element;
    /// The `LEN` of `[T; LEN]`.
    const LEN: usize;

    /// The size, checked against what ptxas and the chips allow.
    const BYTES: usize = {
        let bytes = size_of::<Self::Element>() * Self::LEN;
        assert!(bytes > 0, "a shared array needs a size");
        assert!(bytes <= 48 << 10, "static shared memory ends at 48 KiB: use dynamic_shared_mem");
        bytes
    };

    /// Enough for the widest load and store there are, which move 16 bytes.
    const ALIGN: usize = {
        let own = align_of::<Self::Element>();
        if own > 16 {
            own
        } else {
            16
        }
    };
}

/// Checks the sizes as the GPU would, then panics.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub fn on_the_host<D: Declared>() -> *mut D::Element {
    const { assert!(D::BYTES % D::ALIGN < usize::MAX) };
    panic!("shared memory is on the GPU only")
}

// One declaration for all kernels, as `extern` is allowed at module scope only.
// It takes nothing from a launch that asks for none.
#[cfg(target_arch = "nvptx64")]
global_asm!(".extern .shared .align 16 .b8 cuda_std_dynamic_shared[];");

/// The shared memory whose size the launch set, aligned to 16 bytes. It begins
/// after the kernel's static arrays and is not initialized.
///
/// **Every call gives the same pointer**, whatever `T` is.
#[gpu_only]
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    let address;
    // SAFETY: names the declaration above; touches no memory.
    unsafe {
        asm!(
            "mov.u64 {0}, cuda_std_dynamic_shared;\n\tcvta.shared.u64 {0}, {0};",
            out(reg64) address,
            options(pure, nomem, nostack, preserves_flags)
        )
    }
    address
}

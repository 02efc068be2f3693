//! The five element widths, and how each is moved through shared memory.
//!
//! Rust has no pointer to shared memory: a generic pointer would compile to generic loads and
//! stores, which find out the memory space at run time. So shared memory is addressed by its
//! 32-bit offset and reached by `ld.shared` and `st.shared`, one pair per width.

use cuda_std::gpu_only;

/// An opaque element: `size_of::<Self>()` bytes that are moved as they are.
pub trait Element: Copy + 'static {
    /// Any value: what the register of a lane outside the matrix holds.
    const ANY: Self;

    /// Loads an element from global memory.
    ///
    /// # Safety
    /// - `from` is aligned and readable;
    /// - every write to it in the launch is ordered with the load: by program order, if this thread writes; else by a barrier, or a
    ///   release and an acquire, between the two. (A kernel with a source and a destination writes to no source at all,
    ///   but for `words_xor` in place, each of whose words one thread loads and stores.)
    #[inline(always)]
    unsafe fn load(from: *const Self) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { from.read() }
    }

    /// Stores an element to global memory.
    ///
    /// # Safety
    /// - `to` is aligned and writable;
    /// - every other access to it in the launch is ordered with the store, as for [`load`](Self::load).
    #[inline(always)]
    unsafe fn store(self, to: *mut Self) {
        // SAFETY: the caller's obligations.
        unsafe { to.write(self) }
    }

    /// Loads an element from shared memory.
    ///
    /// # Safety
    /// - `address` is aligned to the element and inside the block's shared memory;
    /// - the element was written, and a barrier stands between that write and this call.
    unsafe fn load_shared(address: u32) -> Self;

    /// Stores an element to shared memory.
    ///
    /// # Safety
    /// - `address` is aligned to the element and inside the block's shared memory;
    /// - no other thread accesses the element before the next barrier.
    unsafe fn store_shared(self, address: u32);

    /// The element as the first bytes of a vector, whose others are 0.
    fn in_vector(self) -> B16;

    /// The element that a vector begins with.
    fn of_vector(vector: B16) -> Self;
}

/// Implements [`Element`] for an integer that fits a register of class `$class`.
macro_rules! element {
    ($element:ty: $class:ident as $register:ty, $load:literal, $store:literal) => {
        impl Element for $element {
            const ANY: Self = 0;

            #[gpu_only]
            #[inline(always)]
            unsafe fn load_shared(address: u32) -> Self {
                let value: $register;
                // SAFETY: the caller vouches for the address and the order of accesses.
                unsafe {
                    core::arch::asm!($load, value = out($class) value, address = in(reg32) address,
                        options(nostack, preserves_flags));
                }
                value as Self
            }

            #[gpu_only]
            #[inline(always)]
            unsafe fn store_shared(self, address: u32) {
                // SAFETY: the caller vouches for the address and the order of accesses.
                unsafe {
                    core::arch::asm!($store, value = in($class) self as $register, address = in(reg32) address,
                        options(nostack, preserves_flags));
                }
            }

            #[inline(always)]
            fn in_vector(self) -> B16 {
                B16::from_u64s([self as u64, 0])
            }

            #[inline(always)]
            fn of_vector(vector: B16) -> Self {
                vector.u64s()[0] as Self
            }
        }
    };
}

element!(u8: reg32 as u32, "ld.shared.u8 {value}, [{address}];", "st.shared.u8 [{address}], {value};");
element!(u16: reg32 as u32, "ld.shared.u16 {value}, [{address}];", "st.shared.u16 [{address}], {value};");
element!(u32: reg32 as u32, "ld.shared.u32 {value}, [{address}];", "st.shared.u32 [{address}], {value};");
element!(u64: reg64 as u64, "ld.shared.u64 {value}, [{address}];", "st.shared.u64 [{address}], {value};");

/// Sixteen bytes as four `u32`, always moved one by one in the source: the compiler joins them to one
/// 128-bit access, while it would take the whole struct through the stack.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct B16(pub u32, pub u32, pub u32, pub u32);

impl B16 {
    /// The element of four `u32`.
    #[inline(always)]
    pub fn from_u32s([x, y, z, w]: [u32; 4]) -> Self {
        B16(x, y, z, w)
    }

    /// The element as four `u32`.
    #[inline(always)]
    pub fn u32s(self) -> [u32; 4] {
        [self.0, self.1, self.2, self.3]
    }

    /// The element of two `u64`.
    #[inline(always)]
    pub fn from_u64s([low, high]: [u64; 2]) -> Self {
        B16(low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32)
    }

    /// The element as two `u64`.
    #[inline(always)]
    pub fn u64s(self) -> [u64; 2] {
        let join = |low: u32, high: u32| low as u64 | (high as u64) << 32;
        [join(self.0, self.1), join(self.2, self.3)]
    }
}

impl Element for B16 {
    const ANY: Self = B16(0, 0, 0, 0);

    #[inline(always)]
    unsafe fn load(from: *const Self) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { B16((*from).0, (*from).1, (*from).2, (*from).3) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut Self) {
        // SAFETY: the caller's obligations.
        unsafe {
            (*to).0 = self.0;
            (*to).1 = self.1;
            (*to).2 = self.2;
            (*to).3 = self.3;
        }
    }

    #[gpu_only]
    #[inline(always)]
    unsafe fn load_shared(address: u32) -> Self {
        let (x, y, z, w);
        // SAFETY: the caller vouches for the address and the order of accesses.
        unsafe {
            core::arch::asm!("ld.shared.v4.u32 {{{x}, {y}, {z}, {w}}}, [{address}];",
                x = out(reg32) x, y = out(reg32) y, z = out(reg32) z, w = out(reg32) w,
                address = in(reg32) address, options(nostack, preserves_flags));
        }
        B16(x, y, z, w)
    }

    #[gpu_only]
    #[inline(always)]
    unsafe fn store_shared(self, address: u32) {
        // SAFETY: the caller vouches for the address and the order of accesses.
        unsafe {
            core::arch::asm!("st.shared.v4.u32 [{address}], {{{x}, {y}, {z}, {w}}};",
                x = in(reg32) self.0, y = in(reg32) self.1, z = in(reg32) self.2, w = in(reg32) self.3,
                address = in(reg32) address, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    fn in_vector(self) -> B16 {
        self
    }

    #[inline(always)]
    fn of_vector(vector: B16) -> Self {
        vector
    }
}

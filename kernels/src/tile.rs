//! A tile in shared memory: `TILE` rows of `PITCH` elements.
//!
//! Shared memory has 32 banks of 4 bytes. With a pitch of 32 elements of 4 bytes, all of a column lies in one
//! bank and a warp that reads a column waits 32 times. With a pitch of 33 the column walks
//! through the banks and a warp reads it in one access: that single element of padding is the difference between
//! the `tiled` and the `padded` kernels.

use crate::element::Element;
use core::marker::PhantomData;
use cuda_std::gpu_only;

/// A tile of elements `E`, the start of one row `PITCH` elements from the next.
#[derive(Clone, Copy)]
pub struct Tile<E, const PITCH: u32> {
    base: u32,
    element: PhantomData<E>,
}

impl<E: Element, const PITCH: u32> Tile<E, PITCH> {
    /// The tile that occupies `memory`.
    ///
    /// # Safety
    /// `memory` points to shared memory, aligned for `E`, of at least `TILE * PITCH` elements.
    #[inline(always)]
    pub unsafe fn new(memory: *mut E) -> Self {
        // SAFETY: the caller vouches that the pointer is to shared memory.
        let base = unsafe { shared_address(memory as *const u8) };
        Tile { base, element: PhantomData }
    }

    /// Reads the element at `(row, col)` of the tile.
    ///
    /// # Safety
    /// `row < TILE`, `col < PITCH`, and a barrier separates this from the element's writer.
    #[inline(always)]
    pub unsafe fn read(self, row: u32, col: u32) -> E {
        // SAFETY: inside the tile; the order is the caller's.
        unsafe { E::load_shared(self.address(row, col)) }
    }

    /// Writes the element at `(row, col)` of the tile.
    ///
    /// # Safety
    /// `row < TILE`, `col < PITCH`, and no other thread accesses the element before the next
    /// barrier.
    #[inline(always)]
    pub unsafe fn write(self, row: u32, col: u32, element: E) {
        // SAFETY: inside the tile; the order is the caller's.
        unsafe { element.store_shared(self.address(row, col)) }
    }

    #[inline(always)]
    fn address(self, row: u32, col: u32) -> u32 {
        self.base + (row * PITCH + col) * size_of::<E>() as u32
    }
}

/// The 32-bit shared-memory address behind a generic pointer.
///
/// # Safety
/// `pointer` points to shared memory.
#[gpu_only]
#[inline(always)]
pub unsafe fn shared_address(pointer: *const u8) -> u32 {
    let address: u64;
    // SAFETY: a conversion between address spaces; it accesses nothing.
    unsafe {
        core::arch::asm!("cvta.to.shared.u64 {address}, {pointer};",
            address = out(reg64) address, pointer = in(reg64) pointer,
            options(pure, nomem, nostack, preserves_flags));
    }
    address as u32
}

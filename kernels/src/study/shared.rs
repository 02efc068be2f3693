//! An array in shared memory whose use is decided at run time.

use crate::element::Element;
use crate::tile::shared_address;
use core::marker::PhantomData;

/// Elements `E` in shared memory, by index.
#[derive(Clone, Copy)]
pub struct SharedArray<E> {
    base: u32,
    element: PhantomData<E>,
}

impl<E: Element> SharedArray<E> {
    /// The array that starts at `memory`.
    ///
    /// # Safety
    /// `memory` points to shared memory and is aligned for `E`.
    #[inline(always)]
    pub unsafe fn new(memory: *mut E) -> Self {
        // SAFETY: the caller vouches that the pointer is to shared memory.
        let base = unsafe { shared_address(memory as *const u8) };
        SharedArray { base, element: PhantomData }
    }

    /// Reads an element.
    ///
    /// # Safety
    /// `index` is inside the array, and a barrier separates this from the element's writer.
    #[inline(always)]
    pub unsafe fn read(self, index: u32) -> E {
        // SAFETY: inside the array; the order is the caller's.
        unsafe { E::load_shared(self.base + index * size_of::<E>() as u32) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// `index` is inside the array, and no other thread accesses the element before the next
    /// barrier.
    #[inline(always)]
    pub unsafe fn write(self, index: u32, element: E) {
        // SAFETY: inside the array; the order is the caller's.
        unsafe { element.store_shared(self.base + index * size_of::<E>() as u32) }
    }
}

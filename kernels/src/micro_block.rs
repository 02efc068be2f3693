//! What a thread transposes in registers: one vector of each of up to four rows.
//!
//! For elements of 4 bytes and more that means giving the registers other names, for smaller ones a few byte permutations.

use crate::element::{Element, B16};
use crate::shared::{permute, store_u32, store_u32x2};

/// An element whose micro-blocks have `R` rows of one vector.
pub trait MicroBlock<const R: usize>: Element {
    /// Stores the columns of `block`, each `R` elements, to `at`, `at + pitch`, and so on.
    ///
    /// # Safety
    /// The addresses are in the block's shared memory, aligned to a column's bytes (at most 16), and
    /// accessed by no other thread before the next barrier. A column of two vectors is in 32 aligned bytes, and `at` is where
    /// the first of them is, which may be behind the second.
    unsafe fn store_columns(block: [B16; R], at: u32, pitch: u32);
}

impl MicroBlock<1> for B16 {
    #[inline(always)]
    unsafe fn store_columns([a]: [B16; 1], at: u32, _: u32) {
        // SAFETY: the caller's obligations.
        unsafe { a.store_shared(at) }
    }
}

impl MicroBlock<2> for u64 {
    #[inline(always)]
    unsafe fn store_columns([a, b]: [B16; 2], at: u32, pitch: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            B16(a.0, a.1, b.0, b.1).store_shared(at);
            B16(a.2, a.3, b.2, b.3).store_shared(at + pitch);
        }
    }
}

impl MicroBlock<4> for u64 {
    #[inline(always)]
    unsafe fn store_columns([a, b, c, d]: [B16; 4], at: u32, pitch: u32) {
        // Columns are turned by vectors: two side by side stay beside each other, in either order.
        let other = at ^ size_of::<B16>() as u32;
        // SAFETY: the caller's obligations.
        unsafe {
            B16(a.0, a.1, b.0, b.1).store_shared(at);
            B16(c.0, c.1, d.0, d.1).store_shared(other);
            B16(a.2, a.3, b.2, b.3).store_shared(at + pitch);
            B16(c.2, c.3, d.2, d.3).store_shared(other + pitch);
        }
    }
}

impl MicroBlock<4> for u32 {
    #[inline(always)]
    unsafe fn store_columns([a, b, c, d]: [B16; 4], at: u32, pitch: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            B16(a.0, b.0, c.0, d.0).store_shared(at);
            B16(a.1, b.1, c.1, d.1).store_shared(at + pitch);
            B16(a.2, b.2, c.2, d.2).store_shared(at + 2 * pitch);
            B16(a.3, b.3, c.3, d.3).store_shared(at + 3 * pitch);
        }
    }
}

impl MicroBlock<4> for u16 {
    #[inline(always)]
    unsafe fn store_columns([a, b, c, d]: [B16; 4], at: u32, pitch: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            store_two_columns([a.0, b.0, c.0, d.0], at, pitch);
            store_two_columns([a.1, b.1, c.1, d.1], at + 2 * pitch, pitch);
            store_two_columns([a.2, b.2, c.2, d.2], at + 4 * pitch, pitch);
            store_two_columns([a.3, b.3, c.3, d.3], at + 6 * pitch, pitch);
        }
    }
}

impl MicroBlock<4> for u8 {
    #[inline(always)]
    unsafe fn store_columns([a, b, c, d]: [B16; 4], at: u32, pitch: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            store_four_columns([a.0, b.0, c.0, d.0], at, pitch);
            store_four_columns([a.1, b.1, c.1, d.1], at + 4 * pitch, pitch);
            store_four_columns([a.2, b.2, c.2, d.2], at + 8 * pitch, pitch);
            store_four_columns([a.3, b.3, c.3, d.3], at + 12 * pitch, pitch);
        }
    }
}

/// Stores the columns of narrow elements that 4 bytes of each of four rows have.
///
/// # Safety
/// Those of [`MicroBlock::store_columns`].
#[inline(always)]
pub unsafe fn store_columns_of_unit<E>(rows: [u32; 4], at: u32, pitch: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        match size_of::<E>() {
            1 => store_four_columns(rows, at, pitch),
            _ => store_two_columns(rows, at, pitch),
        }
    }
}

/// Those of elements of 2 bytes.
///
/// # Safety
/// Those of [`MicroBlock::store_columns`].
#[inline(always)]
unsafe fn store_two_columns([a, b, c, d]: [u32; 4], at: u32, pitch: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        store_u32x2(at, permute(a, b, 0x5410), permute(c, d, 0x5410));
        store_u32x2(at + pitch, permute(a, b, 0x7632), permute(c, d, 0x7632));
    }
}

/// Those of bytes.
///
/// # Safety
/// Those of [`MicroBlock::store_columns`].
#[inline(always)]
unsafe fn store_four_columns([a, b, c, d]: [u32; 4], at: u32, pitch: u32) {
    // Two rounds of interleaving: bytes to pairs, pairs to columns of four.
    let (ab_low, ab_high) = (permute(a, b, 0x5140), permute(a, b, 0x7362));
    let (cd_low, cd_high) = (permute(c, d, 0x5140), permute(c, d, 0x7362));
    // SAFETY: the caller's obligations.
    unsafe {
        store_u32(at, permute(ab_low, cd_low, 0x5410));
        store_u32(at + pitch, permute(ab_low, cd_low, 0x7632));
        store_u32(at + 2 * pitch, permute(ab_high, cd_high, 0x5410));
        store_u32(at + 3 * pitch, permute(ab_high, cd_high, 0x7632));
    }
}

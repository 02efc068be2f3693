//! Elements moved along the cycles of a tile, many threads per cycle: 010! by PTTWAC.
//!
//! A block transposes one tile of consecutive memory in place. A bit per element, in shared memory,
//! says who moves it: a thread reads a place, then sets its flag, and owns what stood there if the
//! flag was clear. It goes along the cycle as long as it owns what it finds.
//!
//! This is the rule of `strong`, with threads for parties. They are threads of one block, so the scope `.cta` has all of
//! them: no other block accesses the tile. The flags are in another state space than the
//! elements, which makes no difference: "causality order closes over all memory operations across all the state
//! spaces". The stores that clear the flags precede all claims by program order and the barrier between.
//!
//! Flags of neighbours share a word, and threads that set bits of one word wait for each other.
//! A *spreading factor* of `2^spread` puts that many times fewer flags into a word; *padding*
//! leaves every 33rd word empty, so that strides of a power of two do not meet in one bank. Source:
//! Sung et al. (PPoPP 2014), section 5.1, equations 2 and 3.

use super::strong::{fetch_or_shared, Strong};
use crate::divide::Divisor;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::Flags;

/// The flags of a tile in shared memory.
#[derive(Clone, Copy)]
struct Bits {
    base: u32,
    spread: u32,
    padding: bool,
}

impl Bits {
    /// Sets the flag of an element and says whether it was clear.
    ///
    /// # Safety
    /// The flag is inside shared memory.
    #[inline(always)]
    unsafe fn claim(self, element: u32) -> bool {
        let word = element >> (5 - self.spread);
        let bit = 1 << (element & ((32 >> self.spread) - 1));
        let word = if self.padding { word + (word >> 5) } else { word };
        // SAFETY: the caller's obligation.
        unsafe { fetch_or_shared(self.base + word * 4, bit) & bit == 0 }
    }
}

/// Transposes the tile of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn flags<E: Strong>(matrix: *mut E, _: *mut u32, params: Flags) {
    let (rows, elements) = (params.rows as u32, (params.rows * params.cols.divisor) as u32);
    // SAFETY: the launch has dynamic shared memory for the flags.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let flags = Bits { base, spread: params.spread as u32, padding: params.padding != 0 };
    let (own, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let mut word = own;
    while word < params.flag_words as u32 {
        // SAFETY: inside the flags; each word is written by one thread.
        unsafe { 0u32.store_shared(base + word * 4) };
        word += threads;
    }
    thread::sync_threads();

    let cols = Divisor::from(params.cols);
    let next = |k: u32| {
        let (row, col) = cols.divide(k as u64);
        col as u32 * rows + row as u32
    };
    // SAFETY: the caller's obligations.
    let tile = unsafe { matrix.add(thread::block_idx_x() as usize * elements as usize) };
    let mut start = own;
    while start < elements {
        // SAFETY: inside the tile.
        let mut held = unsafe { E::load_strong(tile.add(start as usize)) };
        // SAFETY: the flag of an element of the tile.
        let mut owned = unsafe { flags.claim(start) };
        let mut at = start;
        while owned {
            at = next(at);
            // SAFETY: inside the tile.
            let found = unsafe { E::load_strong(tile.add(at as usize)) };
            // SAFETY: the flag of an element of the tile.
            owned = unsafe { flags.claim(at) };
            // SAFETY: inside the tile, and claimed before: what stood there has been read by its owner.
            unsafe { held.store_strong(tile.add(at as usize)) };
            held = found;
        }
        start += threads;
    }
}

crate::in_place::in_place_entries! {
    "Transposes each tile along its cycles, with flags in shared memory.",
    FLAGS: Flags, flags =>
        flags_b1: u8; flags_b2: u16; flags_b4: u32; flags_b8: u64; flags_b16: B16
}

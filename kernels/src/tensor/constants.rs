//! Words that a launch has among its parameters, to memory.
//!
//! The driver keeps parameters with the launch. So a small array reaches the device in the order of its queue, and the host waits neither for the queue nor for a
//! copy.
//!
//! Parameters that are indexed by what a thread knows would be copied to local memory first. So each warp goes to code of its own, where one lane stores vectors whose
//! numbers the compiler knows: all that the warp has, without asking how many there are, so that no store waits for the words of another.

use super::axes::unrolled;
use super::tensor_entry;
use crate::element::B16;
use crate::global::store_vector;
use cuda_std::thread;
use kernel_abi::fast::{VECTOR, WARP};
use kernel_abi::tensor::{Constants, CONSTANT_WORDS, WORDS_OF_WARP};

/// Warps of a block.
const WARPS: usize = CONSTANT_WORDS / WORDS_OF_WARP;

/// Writes the words.
///
/// # Safety
/// Those of the entry point.
#[inline(always)]
unsafe fn write(dst: u64, params: &Constants) {
    let warp = thread::thread_idx_x() / WARP;
    if !thread::thread_idx_x().is_multiple_of(WARP) {
        return;
    }
    unrolled! { W in [0 1 2 3] of WARPS => {
        const { assert!(WARPS == 4) };
        if warp == W as u32 {
            const { assert!(WORDS_OF_WARP == 32) };
            unrolled! { V in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] of WORDS_OF_WARP / 2 => {
                const FIRST: usize = W * WORDS_OF_WARP + 2 * V;
                let vector = B16::from_u64s([params.words[FIRST], params.words[FIRST + 1]]);
                // SAFETY: words of the destination, which no other thread has, on a vector.
                unsafe { store_vector(dst + (FIRST / 2) as u64 * VECTOR as u64, vector) };
            } }
        }
    } }
}

tensor_entry! {
    "Writes words that are among the parameters to memory that starts on vectors: as many warps as the block has write what is theirs. There is no source.",
    CONSTANTS: Constants, constants_b8: u64, |src, dst, params| {
        let _ = src;
        write(dst as u64, &params)
    }
}

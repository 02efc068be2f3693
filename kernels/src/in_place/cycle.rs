//! Elements moved along cycles, a thread per cycle: P-IPT, the baseline.
//!
//! The element at `k` goes to `k · rows mod (rows · cols − 1)`. A thread walks the cycle of its
//! `k`; if no index of it is below `k`, the thread is the one that moves the cycle. Source: Sung et
//! al. (PPoPP 2014), section 4. Long cycles are moved by one thread, short ones found in vain.

use crate::divide::Divisor;
use crate::element::{Element, B16};
use cuda_std::thread;
use kernel_abi::in_place::Cycle;

/// Where the element at `k` goes.
#[inline(always)]
fn next(params: &Cycle, k: u64) -> u64 {
    let (row, col) = Divisor::from(params.cols).divide(k);
    col * params.rows + row
}

/// Moves the cycles whose lowest index falls to this thread.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn cycle<E: Element>(matrix: *mut E, _: *mut u32, params: Cycle) {
    let threads = thread::grid_dim_x() as u64 * thread::block_dim_x() as u64;
    let mut k =
        thread::block_idx_x() as u64 * thread::block_dim_x() as u64 + thread::thread_idx_x() as u64;
    while k < params.rows * params.cols.divisor {
        let mut at = next(&params, k);
        while at > k {
            at = next(&params, at);
        }
        if at == k {
            // SAFETY: inside the matrix; the cycle is this thread's alone.
            let mut held = unsafe { E::load(matrix.add(k as usize)) };
            loop {
                at = next(&params, at);
                // SAFETY: inside the matrix; the cycle is this thread's alone.
                let next = unsafe { E::load(matrix.add(at as usize)) };
                // SAFETY: inside the matrix; the cycle is this thread's alone.
                unsafe { held.store(matrix.add(at as usize)) };
                held = next;
                if at == k {
                    break;
                }
            }
        }
        k += threads;
    }
}

crate::in_place::in_place_entries! {
    "Moves elements along the cycles of the transposition, a thread per cycle.",
    CYCLE: Cycle, cycle =>
        cycle_b1: u8; cycle_b2: u16; cycle_b4: u32; cycle_b8: u64; cycle_b16: B16
}

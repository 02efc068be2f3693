//! The transpose of elements so large that each is moved by itself.
//!
//! A warp copies one element, its words side by side. Consecutive warps store consecutive elements.

use crate::element::{Element, B16};
use crate::matrices::Matrices;
use cuda_std::thread;
use kernel_abi::fast::ElementsTile;

/// Copies one element a warp; the grid's x and y axes together count blocks of eight. `matrices` counts
/// words along the rows of both matrices, and rows in `rows`; an element is `k` words.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn transpose<E: Element>(matrices: Matrices<E>, k: u64) {
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let block =
        thread::block_idx_y() as u64 * thread::grid_dim_x() as u64 + thread::block_idx_x() as u64;
    let number = block * ElementsTile::ELEMENTS as u64 + warp as u64;
    let (col, row) = (number / matrices.rows, number % matrices.rows);
    if col * k >= matrices.cols {
        return;
    }
    let mut word = lane as u64;
    while word < k {
        // SAFETY: the element is in the source, and its place in the destination is this warp's.
        unsafe {
            let from = matrices.src.add((row * matrices.src_ld + col * k + word) as usize);
            let to = matrices.dst.add((col * matrices.dst_ld + row * k + word) as usize);
            E::load(from).store(to);
        }
        word += 32;
    }
}

/// Defines the entry points, one for each word.
macro_rules! elements {
    ($($name:ident: $element:ty),+) => {
        $(crate::fast_entry! {
            "Transposes matrices of large elements of `k` words; all columns and leading dimensions \
             are given in words.",
            ELEMENTS: Elements, $name: $element, |matrices, params| transpose::<$element>(matrices, params.tuple)
        })+
    };
}

elements!(elements_b1: u8, elements_b2: u16, elements_b4: u32, elements_b8: u64, elements_b16: B16);

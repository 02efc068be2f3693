//! Transposes by the CPU, by crates that others wrote, on all cores.

use bytemuck::Pod;
use ndarray::{ArrayView2, ArrayViewMut2, Zip};
use rayon::prelude::*;

/// By the `transpose` crate of E. Mahler, which uses one core: each takes some rows, and then all copy the results to where they belong.
pub fn transpose_crate<T: Pod + Send + Sync>(src: &[T], dst: &mut [T], rows: usize, cols: usize) {
    let slab = rows.div_ceil(rayon::current_num_threads()).max(1);
    let parts: Vec<Vec<T>> = src
        .par_chunks(slab * cols)
        .map(|part| {
            let mut transposed = vec![T::zeroed(); part.len()];
            cpu_transpose::transpose(part, &mut transposed, cols, part.len() / cols);
            transposed
        })
        .collect();
    dst.par_chunks_mut(rows).enumerate().for_each(|(col, line)| {
        for (part, line) in parts.iter().zip(line.chunks_mut(slab)) {
            let len = line.len();
            line.copy_from_slice(&part[col * len..][..len]);
        }
    });
}

/// By `ndarray`: an assignment from the transposed view, in parts for all cores.
pub fn ndarray_crate<T: Pod + Send + Sync>(src: &[T], dst: &mut [T], rows: usize, cols: usize) {
    let from = ArrayView2::from_shape((rows, cols), src);
    let to = ArrayViewMut2::from_shape((cols, rows), dst);
    let (Ok(from), Ok(to)) = (from, to) else { unreachable!("as many elements as the shape has") };
    Zip::from(to).and(from.t()).par_for_each(|to, &from| *to = from);
}

//! Something to move, and checking on the host that it was.

use bytemuck::Pod;
use rayon::prelude::*;

/// The side of the blocks in which the comparison walks, so that both matrices stay in cache.
const BLOCK: usize = 64;

/// Elements that all differ from their neighbours.
pub fn scrambled<T: Pod + Send>(len: usize) -> Vec<T> {
    let mut host = vec![T::zeroed(); len];
    bytemuck::cast_slice_mut::<T, u8>(&mut host).par_chunks_mut(1 << 20).enumerate().for_each(
        |(chunk, bytes)| {
            for (index, byte) in bytes.iter_mut().enumerate() {
                let n = ((chunk << 20) + index) as u64;
                *byte = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
            }
        },
    );
    host
}

/// Whether `transposed` is the transpose of the row-major `rows × cols` matrix `original`.
pub fn is_transpose<T: PartialEq>(
    original: &[T],
    rows: usize,
    cols: usize,
    transposed: &[T],
) -> bool {
    original.len() == rows * cols
        && transposed.len() == rows * cols
        && (0..rows).step_by(BLOCK).all(|row_block| {
            (0..cols).step_by(BLOCK).all(|col_block| {
                (row_block..rows.min(row_block + BLOCK)).all(|row| {
                    (col_block..cols.min(col_block + BLOCK))
                        .all(|col| transposed[col * rows + row] == original[row * cols + col])
                })
            })
        })
}

/// Whether `permuted` is the row-major array `original` of `shape`, axis `i` of it being axis `axes[i]` of the original.
pub fn is_permuted<T: PartialEq + Sync>(
    original: &[T],
    shape: &[usize],
    axes: &[usize],
    permuted: &[T],
) -> bool {
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let steps: Vec<(usize, usize)> = axes.iter().map(|&axis| (shape[axis], stride(axis))).collect();
    let Some((&(last, step), outer)) = steps.split_last() else { return original == permuted };
    let row_is_right = |(number, row): (usize, &[T])| {
        let mut rest = number;
        let start: usize = outer
            .iter()
            .rev()
            .map(|&(length, stride)| {
                let index = rest % length;
                rest /= length;
                index * stride
            })
            .sum();
        row.iter().enumerate().all(|(index, element)| *element == original[start + index * step])
    };
    original.len() == permuted.len()
        && shape.iter().product::<usize>() == original.len()
        && permuted.par_chunks(last.max(1)).enumerate().all(row_is_right)
}

#[cfg(test)]
mod tests {
    use super::{is_permuted, is_transpose};

    #[test]
    fn permutations_are_told_from_others() {
        let original: Vec<u32> = (0..24).collect();
        let permuted: Vec<u32> = (0..4)
            .flat_map(|k| (0..2).flat_map(move |i| (0..3).map(move |j| (i * 3 + j) * 4 + k)))
            .collect();
        assert!(is_permuted(&original, &[2, 3, 4], &[2, 0, 1], &permuted));
        assert!(!is_permuted(&original, &[2, 3, 4], &[2, 1, 0], &permuted));
        assert!(!is_permuted(&original, &[2, 3, 4], &[2, 0, 1], &permuted[1..]));
    }

    #[test]
    fn one_wrong_element_is_seen() {
        let (rows, cols) = (70, 130);
        let original: Vec<u32> = (0..(rows * cols) as u32).collect();
        let mut transposed: Vec<u32> =
            (0..rows * cols).map(|i| original[i % rows * cols + i / rows]).collect();
        assert!(is_transpose(&original, rows, cols, &transposed));
        transposed[69 * 100] ^= 1;
        assert!(!is_transpose(&original, rows, cols, &transposed));
    }
}

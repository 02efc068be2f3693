//! Something to move, and checking on the host that it was.

use bytemuck::Pod;
use rayon::prelude::*;

/// The side of the blocks in which the comparison walks, so that both matrices stay in cache.
const BLOCK: usize = 64;

/// Elements that all differ from their neighbours.
pub fn scrambled<T: Pod + Send>(len: usize) -> Vec<T> {
    let mut host = vec![T::zeroed(); len];
    scramble(&mut host);
    host
}

/// Replaces elements by such.
pub fn scramble<T: Pod + Send>(host: &mut [T]) {
    bytemuck::cast_slice_mut::<T, u8>(host).par_chunks_mut(1 << 20).enumerate().for_each(
        |(chunk, bytes)| {
            for (index, byte) in bytes.iter_mut().enumerate() {
                let n = ((chunk << 20) + index) as u64;
                *byte = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
            }
        },
    );
}

/// Whether `transposed` is the transpose of the row-major `rows × cols` matrix `original`, seen by all cores.
pub fn is_transpose_by_all<T: PartialEq + Sync>(
    original: &[T],
    (rows, cols): (usize, usize),
    transposed: &[T],
) -> bool {
    let whole = original.len() == rows * cols && transposed.len() == rows * cols;
    let bands = transposed.par_chunks((BLOCK * rows).max(1)).enumerate();
    whole
        && bands.all(|(band, of_band)| {
            let first = band * BLOCK;
            let block = |row: usize| {
                of_band.chunks_exact(rows).enumerate().all(|(col, line)| {
                    let last = rows.min(row + BLOCK);
                    (row..last).all(|row| line[row] == original[row * cols + first + col])
                })
            };
            (0..rows).step_by(BLOCK).all(block)
        })
}

#[cfg(test)]
mod tests {
    use super::is_transpose_by_all;

    #[test]
    fn one_wrong_element_is_seen() {
        let (rows, cols) = (70, 130);
        let original: Vec<u32> = (0..(rows * cols) as u32).collect();
        let mut transposed: Vec<u32> =
            (0..rows * cols).map(|i| original[i % rows * cols + i / rows]).collect();
        assert!(is_transpose_by_all(&original, (rows, cols), &transposed));
        transposed[69 * 100] ^= 1;
        assert!(!is_transpose_by_all(&original, (rows, cols), &transposed));
    }
}

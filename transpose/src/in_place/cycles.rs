//! Where elements go, and the cycles that this makes.
//!
//! In a row-major `rows × cols` matrix the element at offset `k` goes to
//! `k · rows mod (rows · cols − 1)`; the last one stays. Source: Sung et al. (PPoPP 2014), equation 1.

use crate::layout::Layout;
use crate::{Error, Result};

/// The offset at which the element at offset `k` belongs after the transposition.
pub(crate) fn destination(k: usize, rows: usize, cols: usize) -> usize {
    let last = rows * cols - 1;
    if k == last { last } else { (k as u128 * rows as u128 % last as u128) as usize }
}

/// The cycle that begins at offset `k`, `k` first.
pub(super) fn cycle(k: usize, rows: usize, cols: usize) -> impl Iterator<Item = usize> {
    let mut next = Some(k);
    std::iter::from_fn(move || {
        let current = next?;
        let following = destination(current, rows, cols);
        next = (following != k).then_some(following);
        Some(current)
    })
}

/// The cycles in which the elements of a row-major `rows × cols` matrix change places when it is transposed in its own memory: how many
/// there are, those of elements that stay included, and how many elements the longest has.
///
/// This is what decides how well one thread per cycle does ([`InPlace::CycleFollowing`](crate::InPlace)): the longest cycle is moved by
/// one. It takes time on the host in proportion to the matrix, and a byte of host memory for each element.
///
/// # Errors
/// [`Error::SizeOverflow`] and [`Error::HostMemory`] for more elements than that is possible of.
pub fn census(rows: usize, cols: usize) -> Result<(usize, usize)> {
    let elements = Layout::contiguous(rows, cols, 1)?.len();
    let mut seen: Vec<bool> = Vec::new();
    seen.try_reserve_exact(elements).map_err(|_| Error::HostMemory { bytes: elements })?;
    seen.resize(elements, false);
    let (mut cycles, mut longest) = (0, 0);
    for start in 0..elements {
        if !seen[start] {
            let length = cycle(start, rows, cols).inspect(|&k| seen[k] = true).count();
            cycles += 1;
            longest = longest.max(length);
        }
    }
    Ok((cycles, longest))
}

#[cfg(test)]
mod tests {
    use super::{census, cycle, destination};
    use crate::Error;
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn offsets_go_where_the_transpose_has_them() {
        for rows in 1..=64 {
            for cols in 1..=64 {
                for k in 0..rows * cols {
                    let (row, col) = (k / cols, k % cols);
                    assert_eq!(destination(k, rows, cols), col * rows + row, "{rows} × {cols}");
                }
            }
        }
    }

    /// The cycles that the paper lists for 5 × 3.
    #[test]
    fn the_papers_example() {
        assert_eq!(cycle(1, 5, 3).collect::<Vec<_>>(), [1, 5, 11, 13, 9, 3]);
        assert_eq!(cycle(2, 5, 3).collect::<Vec<_>>(), [2, 10, 8, 12, 4, 6]);
        assert_eq!(cycle(7, 5, 3).collect::<Vec<_>>(), [7]);
        assert_eq!(census(5, 3), Ok((5, 6)));
    }

    #[test]
    fn sizes_that_cannot_be_are_errors() {
        assert!(matches!(census(usize::MAX, 2), Err(Error::SizeOverflow { .. })));
        assert!(matches!(census(1 << 40, 1 << 20), Err(Error::HostMemory { .. })));
    }

    #[test]
    fn a_square_has_cycles_of_two() {
        assert_eq!(census(31, 31), Ok((31 + 31 * 30 / 2, 2)));
    }

    proptest! {
        /// Products beyond 2³² and 2⁶⁴ are reduced without loss.
        #[test]
        fn large_offsets(rows in 1usize..1 << 31, cols in 1usize..1 << 31, k: usize) {
            let k = k % (rows * cols);
            let (row, col) = (k / cols, k % cols);
            prop_assert_eq!(destination(k, rows, cols), col * rows + row);
        }
    }
}

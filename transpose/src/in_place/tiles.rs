//! Tile sizes for the staged algorithms.
//!
//! `M = M' · m` and `N = N' · n`. The heuristic of Sung et al. (PPoPP 2014), section 7.4: `m` and
//! `n` between 50 and 100, their tile on chip. Where there is no such divisor, the nearest is taken.

/// The range in which the paper finds good sizes.
const GOOD: std::ops::RangeInclusive<usize> = 50..=100;

/// The divisors of a number, ascending.
pub(super) fn divisors(number: usize) -> Vec<usize> {
    let mut divisors = Vec::new();
    let mut candidate = 1;
    while candidate * candidate <= number {
        if number.is_multiple_of(candidate) {
            divisors.push(candidate);
            if candidate != number / candidate {
                divisors.push(number / candidate);
            }
        }
        candidate += 1;
    }
    divisors.sort_unstable();
    divisors
}

/// How far a size is from the good range, as a factor.
fn badness(size: usize) -> f64 {
    let size = size as f64;
    (*GOOD.start() as f64 / size).max(size / *GOOD.end() as f64).max(1.0)
}

/// All tiles of at most `elements` elements, best first: those that move less than 4 elements at a
/// time are left out, unless the sides have no others.
pub(super) fn candidates(rows: usize, cols: usize, elements: usize) -> Vec<(usize, usize)> {
    let (row_divisors, col_divisors) = (divisors(rows), divisors(cols));
    let mut tiles: Vec<_> = row_divisors
        .iter()
        .flat_map(|&m| col_divisors.iter().map(move |&n| (m, n)))
        .filter(|&(m, n)| m.saturating_mul(n) <= elements && (m, n) != (1, 1))
        .collect();
    let rank = |(m, n): (usize, usize)| {
        // Among equals the most square, then the larger.
        (badness(m) * badness(n), (m as f64 / n as f64).ln().abs(), usize::MAX - m * n)
    };
    tiles.sort_by(|&a, &b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    tiles
}

#[cfg(test)]
mod tests {
    use super::{GOOD, candidates, divisors};

    #[test]
    fn divisors_divide() {
        for number in 1..500 {
            let expected: Vec<_> = (1..=number).filter(|d| number % d == 0).collect();
            assert_eq!(divisors(number), expected);
        }
    }

    /// For the paper's sizes both sides of the tile are in the paper's range.
    #[test]
    fn the_papers_sizes_have_good_tiles() {
        let sizes =
            [(7200, 1800), (5100, 2500), (4000, 3200), (3300, 3900), (2500, 5100), (1800, 7200)];
        for (rows, cols) in sizes {
            let (m, n) = candidates(rows, cols, 7000)[0];
            assert!(GOOD.contains(&m) && GOOD.contains(&n), "{rows} × {cols}: {m} × {n}");
            assert!(rows % m == 0 && cols % n == 0);
        }
    }
}

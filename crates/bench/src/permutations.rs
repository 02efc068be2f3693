//! The permutations of more than two axes that are measured.

/// An array, and the order of axes to bring it into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// The length of each axis, the last one the fastest.
    pub shape: Vec<usize>,
    /// Axis `i` of the result is axis `axes[i]` of the array.
    pub axes: Vec<usize>,
}

impl Permutation {
    /// Elements of the array.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The array and the order, in a line.
    pub fn name(&self) -> String {
        let joined = |numbers: &[usize], by: &str| {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
        };
        format!("{} to {}", joined(&self.shape, " × "), joined(&self.axes, ""))
    }
}

/// The 57 of the literature.
///
/// # Panics
/// If the list in the repository is damaged; a test holds that it is not.
pub fn literature() -> Vec<Permutation> {
    let lines = include_str!("permutations.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| of_line(line).expect("the list is a list")).collect()
}

/// The permutations of one line of the list, turned from first axis fastest to last.
fn of_line(line: &str) -> Option<Vec<Permutation>> {
    let (order, shapes) = line.split_once(':')?;
    let last = order.len() - 1;
    let order: Option<Vec<usize>> =
        order.chars().rev().map(|digit| last.checked_sub(digit.to_digit(10)? as usize)).collect();
    let axes = order?;
    let permutation = |shape: &str| {
        let shape: Result<Vec<usize>, _> =
            shape.trim().split(',').rev().map(str::parse::<usize>).collect();
        Some(Permutation { shape: shape.ok()?, axes: axes.clone() })
    };
    shapes.split(';').map(permutation).collect()
}

/// What programs that learn and infer ask for: channels last and first, attention heads, keys.
pub fn layouts() -> Vec<Permutation> {
    const IMAGES: [[usize; 4]; 4] =
        [[64, 64, 56, 56], [32, 3, 224, 224], [128, 256, 14, 14], [8, 2048, 7, 7]];
    let of = |shape: [usize; 4], axes: [usize; 4]| Permutation {
        shape: shape.to_vec(),
        axes: axes.to_vec(),
    };
    let images = IMAGES
        .into_iter()
        .flat_map(|[n, c, h, w]| [of([n, c, h, w], [0, 2, 3, 1]), of([n, h, w, c], [0, 3, 1, 2])]);
    let others = [
        of([8, 2048, 32, 128], [0, 2, 1, 3]),
        of([64, 197, 12, 64], [0, 2, 1, 3]),
        of([8, 32, 2048, 128], [0, 1, 3, 2]),
    ];
    images.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole() {
        let all = literature();
        assert_eq!(all.len(), 57);
        for Permutation { shape, axes } in &all {
            let mut sorted = axes.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..shape.len()), "{axes:?}");
        }
        // "021: 368,384,384": the fastest axis stays, the others change places.
        assert_eq!(all[3], Permutation { shape: vec![384, 384, 368], axes: vec![1, 0, 2] });
        // "2031": axis 0 of the output, the fastest, is axis 2 of the input.
        let turned = Permutation { shape: vec![75, 96, 12, 608], axes: vec![2, 0, 3, 1] };
        assert!(all.contains(&turned));
    }
}

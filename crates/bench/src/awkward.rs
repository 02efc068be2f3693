//! Transposes that were once slow: few rows or columns, gaps, elements of several words, batches of small matrices.

use crate::moves::{Drawn, Move};
use anyhow::{Context, Result};
use transpose::TensorLayout;

/// All of the list.
///
/// # Errors
/// A line of the list that is none; a test holds that there is no such line.
pub fn awkward() -> Result<Vec<Drawn>> {
    let lines = include_str!("awkward.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| of_line(line).with_context(|| line.to_owned())).collect()
}

/// The move of a line.
fn of_line(line: &str) -> Result<Drawn> {
    let (element, rest) = line.split_once(": ").context("no element")?;
    let element: usize = element.parse()?;
    let mut words = rest.split(' ').filter(|&word| word != "x");
    let mut number =
        || words.next().context("too few numbers")?.parse::<usize>().context("a number");
    let [count, rows, cols] = [number()?, number()?, number()?];
    let (mut src_ld, mut dst_ld, mut start) = (cols, rows, 0);
    while let Some(name) = words.next() {
        let value = words.next().context("a name without a number")?.parse()?;
        match name {
            "src" => src_ld = value,
            "dst" => dst_ld = value,
            "at" => start = value,
            _ => anyhow::bail!("{name} is no name"),
        }
    }
    let shape = [count, cols, rows];
    let signed = |number: usize| isize::try_from(number);
    let src = [signed(rows * src_ld)?, 1, signed(src_ld)?];
    let dst = [signed(cols * dst_ld)?, signed(dst_ld)?, 1];
    let layout = |strides: &[isize]| TensorLayout::strided(&shape, strides, start, element);
    let of = Move::new(element, &layout(&src)?, &layout(&dst)?)?;
    Ok(Drawn { kind: "awkward", shape: shape.to_vec(), of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_move() {
        let all = awkward().unwrap();
        assert_eq!(all.len(), 22);
        let named = |bytes: usize, shape: [usize; 3]| {
            all.iter().find(|drawn| drawn.of.element == bytes && drawn.shape == shape).unwrap()
        };
        // Of 2 times 4 bytes in 20, and 8 in 8.
        let gappy = named(4, [1, 2, 3_372_160]);
        assert!((gappy.of.bound() - 0.571).abs() < 0.001, "{}", gappy.of.bound());
        assert_eq!(named(6, [1, 118_784, 96]).of.src.offset(), 18);
        assert_eq!(named(1, [1, 70_000, 70_000]).of.bytes(), 4_900_000_000);
        for wrong in ["4: 1 x 2", "4: 1 x 2 x 3 src", "4: 1 x 2 x 3 ld 5", "1 x 2 x 3"] {
            assert!(of_line(wrong).is_err(), "{wrong}");
        }
    }
}

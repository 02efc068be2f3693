//! The planner of `compute_units`, which serves every move.

use super::operands::{Axis, OTHER, Operands, SRC, halves};
use super::part::Part;
use crate::divide::packed_divisor;
use crate::plan::problem::VECTOR;
use kernel_abi::arithmetic::{
    COMPUTE_UNITS, ComputeUnits, OperandAxis, Operation, UNIT_THREADS, UNITS_OF_THREAD,
};

/// Units of a block.
const OF_BLOCK: usize = (UNIT_THREADS * UNITS_OF_THREAD) as usize;

/// Elements of a launch: every thread's number, those past the end included, is below what a kernel divides.
const MOST_ELEMENTS: usize = (1 << 31) - OF_BLOCK;

/// The launches that compute everything: by units of several elements where these lie together on vectors, and what is left element by element.
pub(super) fn launches(operands: &Operands, operation: &Operation) -> Vec<Part> {
    in_parts(operands, operation, MOST_ELEMENTS)
}

/// The same, of no more than `most` elements each.
fn in_parts(operands: &Operands, operation: &Operation, most: usize) -> Vec<Part> {
    let mut launches = Vec::new();
    let per = match operands.are_in_units() {
        true if are_in_twos(operands) => 2 * operands.unit(),
        true => operands.unit(),
        false => 1,
    };
    let mut whole = operands.axes.clone();
    if let Some(first) = whole.first_mut().filter(|_| per > 1) {
        let (all, units) = (first.length, first.length / per);
        first.length = units;
        if all % per > 0 {
            let mut rest = operands.axes.clone();
            rest[0].length = all % per;
            let behind = first.strides.map(|stride| (units * per) as isize * stride);
            split(operands, operation, &rest, 1, behind, most, &mut launches);
        }
        if units == 0 {
            return launches;
        }
    }
    split(operands, operation, &whole, per, [0; 3], most, &mut launches);
    launches
}

/// Whether two units of bytes that stay bytes, which are a vector, are computed together: of whole rows of such, or of one row.
fn are_in_twos(operands: &Operands) -> bool {
    let Some((run, others)) = operands.axes.split_first() else { return false };
    let are_whole = others.is_empty() || run.length.is_multiple_of(2 * operands.unit());
    let start = |side: usize| operands.start_on(VECTOR, others, side);
    operands.are_bytes() && !operands.has_channels() && are_whole && (SRC..=OTHER).all(start)
}

/// Launches for units of `per` elements along these axes, `offsets` elements further: in halves of the slowest axis until there are not too many.
fn split(
    operands: &Operands,
    operation: &Operation,
    axes: &[Axis],
    per: usize,
    offsets: [isize; 3],
    most: usize,
    launches: &mut Vec<Part>,
) {
    // Elements, too: the kernel multiplies a unit's index by those of a unit in 32 bits.
    let units: usize = axes.iter().map(|axis| axis.length).product();
    if units * per <= most {
        launches.push(one(operands, operation, axes, per, offsets));
        return;
    }
    let slowest = (0..axes.len()).rev().find(|&axis| axes[axis].length > 1);
    let slowest = slowest.expect("more than one unit has an axis of more than one index");
    let half = axes[slowest].length / 2;
    let step = if slowest == 0 { per } else { 1 };
    for (part, offsets) in halves(axes, slowest, half, step as isize, offsets) {
        split(operands, operation, &part, per, offsets, most, launches);
    }
}

/// The axes of a kernel that finds the index of each by division; from one index of the first to the next are `per` elements.
pub(super) fn divided<const MOST: usize>(axes: &[Axis], per: usize) -> [OperandAxis; MOST] {
    let none = OperandAxis { divisor: packed_divisor(1), src: 0, dst: 0, other: 0 };
    let mut all = [none; MOST];
    for (number, (divided, axis)) in all.iter_mut().zip(axes).enumerate() {
        let step = if number == 0 { per as isize } else { 1 };
        let [src, dst, other] = axis.strides.map(|stride| (stride * step) as u64);
        *divided = OperandAxis { divisor: packed_divisor(axis.length), src, dst, other };
    }
    all
}

/// One launch.
fn one(
    operands: &Operands,
    operation: &Operation,
    axes: &[Axis],
    per: usize,
    offsets: [isize; 3],
) -> Part {
    let units: usize = axes.iter().map(|axis| axis.length).product();
    let params = ComputeUnits {
        operation: *operation,
        axes: divided(axes, per),
        count: axes.len() as u64,
        whole: if per > 1 { (per / operands.unit()) as u64 } else { 0 },
        units: units as u64,
        channel_step: axes.first().map_or(0, |axis| axis.strides[OTHER] as u64),
    };
    let bytes = operands.bytes.map(|bytes| bytes as isize);
    Part::counted(&COMPUTE_UNITS, units.div_ceil(OF_BLOCK), UNIT_THREADS, [offsets, bytes], &params)
}

#[cfg(test)]
mod tests {
    use super::super::operands::{Operand, Other};
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;

    /// The kernel counts units and the elements of an axis in 32 bits. (It moved the first 2³² elements of such an array.)
    #[test]
    fn elements_of_a_launch_are_counted_in_32_bits() {
        let operation = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        for shape in [&[65537 * 65539][..], &[65537, 65539], &[3, 1 << 31]] {
            let operand = |element_bytes, gap| {
                let last = *shape.last().unwrap();
                let strides: Vec<isize> = match shape.len() {
                    1 => vec![1],
                    _ => vec![(last + gap) as isize, 1],
                };
                let layout = TensorLayout::strided(shape, &strides, 0, element_bytes).unwrap();
                Operand { layout, element_bytes, align: 16 }
            };
            let operands = Operands::of(&operand(1, 0), &operand(2, 16), &Other::None);
            let mut elements = 0;
            for part in launches(&operands, &operation) {
                let params: ComputeUnits = part.launch.params.to().unwrap();
                let per = (operands.unit() * params.whole as usize).max(1);
                assert!(params.units as usize * per < 1 << 32, "{shape:?}: {params:?}");
                elements += params.units as usize * per;
            }
            assert_eq!(elements, shape.iter().product::<usize>());
        }
    }
}

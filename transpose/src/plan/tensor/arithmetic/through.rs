//! A move and a pass that computes, one after the other: for arrays whose order no kernel that computes is fast for.
//!
//! Kernels that only move serve every order at the speed that memory allows: small matrices in batches, short axes, runs of few elements. Kernels that compute are fewer. So elements are moved,
//! and computed where they lie as the results do; or, where results are the narrower ones, computed where they lie, and moved then: the narrower ones are what is read and written twice. Numbers
//! are converted once, so the bits are those of one pass.
//!
//! Elements of the results' size are moved to where the results will be and computed there. Others wait in memory that a plan takes while it runs, as many bytes as the narrower elements have. A sum's
//! second operand may wait there, too.

use super::operands::{DST, OTHER, Operand, Other, SCRATCH, SRC};
use super::part::Part;
use super::problem::Problem;
use super::wanted::Wanted;
use super::ways::{is_by_elements, ways};
use super::{channels, runs, units};
use crate::Facts;
use crate::plan::problem::VECTOR;
use crate::plan::tensor::plan::{self, Way};
use crate::plan::tensor::problem::{TensorProblem, to_sector};
use crate::tensor::TensorLayout;
use kernel_abi::arithmetic::Operation;

/// The fraction of a copy's speed that a pass in order has where channels have numbers of their own. (Of bytes that stay bytes by decision 149.)
const fn channels_in_order(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 1) => 0.61,
        _ => 0.95,
    }
}

/// A move and a pass that computes, in either order, to a destination of which no axis is mirrored, and what they cost; `None` where they do not serve.
pub(super) fn moved_and_computed(
    problem: &Problem,
    operation: &Operation,
    facts: &Facts,
) -> Option<(f64, Vec<Part>)> {
    let Problem { src, dst, other } = problem;
    if src.element_bytes > dst.element_bytes {
        // Results of which the destination's are a part would be rounded twice.
        let waiting = (!other.is_added()).then(|| like(src, dst.element_bytes)).flatten()?;
        let first = Problem { src: *src, dst: waiting, other: *other };
        let (computed, first) = in_order(&first, operation, facts, [SRC, SCRATCH, OTHER])?;
        let (moved, second) = moving(&waiting, dst, facts, [SCRATCH, DST])?;
        return Some((computed + moved, both(first, second, dst.element_bytes)));
    }
    let in_place = src.element_bytes == dst.element_bytes && *other != Other::Destination;
    let (waiting, memory, bytes) = if in_place {
        (*dst, DST, 0)
    } else {
        (like(dst, src.element_bytes)?, SCRATCH, src.element_bytes)
    };
    let (moved, first) = moving(src, &waiting, facts, [SRC, memory])?;
    let second = Problem { src: waiting, dst: *dst, other: *other };
    let (computed, second) = in_order(&second, operation, facts, [memory, DST, OTHER])?;
    Some((moved + computed, both(first, second, bytes)))
}

/// The sum in one pass, behind a move of the second operand to memory where it lies as the results do: for sums of which source, second operand and results lie in three orders, the results with no axis mirrored.
pub(super) fn with_second_moved(
    problem: &Problem,
    operation: &Operation,
    facts: &Facts,
) -> Option<Vec<Part>> {
    let Problem { src, dst, other: Other::Numbers(other) } = problem else { return None };
    let waiting = like(dst, dst.element_bytes)?;
    let (_, first) = moving(other, &waiting, facts, [OTHER, SCRATCH])?;
    let second = Problem { src: *src, dst: *dst, other: Other::Numbers(waiting) };
    let operands = second.operands();
    let ways = ways(&operands, operation, facts, Wanted::Best).all;
    if is_by_elements(&operands, &ways) {
        return None;
    }
    let parts = ways.into_iter().next()?.into_iter();
    let second = parts.map(|part| Part { memories: [SRC, DST, SCRATCH], ..part });
    Some(both(first, second.collect(), dst.element_bytes))
}

/// Parts one behind the other, with so many bytes of each element in between.
fn both(first: Vec<Part>, second: Vec<Part>, waiting: usize) -> Vec<Part> {
    first.into_iter().chain(second).map(|part| Part { waiting, ..part }).collect()
}

/// Memory without gaps, in which elements of so many bytes are in the order that an operand's are in.
fn like(operand: &Operand, element_bytes: usize) -> Option<Operand> {
    let (shape, apart) = (operand.layout.shape(), operand.layout.strides());
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    axes.sort_by_key(|&axis| apart[axis]);
    let (mut strides, mut stride) = (vec![0; shape.len()], 1);
    for axis in axes {
        strides[axis] = isize::try_from(stride).ok()?;
        stride *= shape[axis];
    }
    let layout = TensorLayout::strided(shape, &strides, 0, element_bytes).ok()?;
    Some(Operand { layout, element_bytes, align: VECTOR })
}

/// The move of elements between two memories, and what it costs; `None` if it is no work of kernels, or starts elsewhere.
fn moving(
    src: &Operand,
    dst: &Operand,
    facts: &Facts,
    [from, to]: [usize; 2],
) -> Option<(f64, Vec<Part>)> {
    let problem = TensorProblem {
        element_bytes: src.element_bytes,
        src: &src.layout,
        dst: &dst.layout,
        src_align: to_sector(src.aligned(0)),
        dst_align: to_sector(dst.aligned(0)),
    };
    let moved = plan::best(&problem, facts, None);
    let Way::Launches(launches) = moved.way() else { return None };
    if moved.starts_in([0, 0]) != [0, 0] {
        return None;
    }
    let cost = 2.0 * problem.bytes() as f64 / moved.expected();
    let parts = launches.iter().map(|launch| Part::moving(launch.clone(), [from, to]));
    Some((cost, parts.collect()))
}

/// The pass that computes elements in the order in which they lie, and what it costs; `None` if they do not lie so in all memories, in whole units or in runs. An element is loaded and stored by one thread, so
/// source and destination may be one.
fn in_order(
    problem: &Problem,
    operation: &Operation,
    facts: &Facts,
    memories: [usize; 3],
) -> Option<(f64, Vec<Part>)> {
    let operands = problem.operands();
    let (cost, parts) = if operands.has_channels() {
        let speed = channels_in_order(operands.bytes[SRC], operands.bytes[DST]);
        (operands.traffic() / speed, channels::launches(&operands, operation)?)
    } else if operands.are_in_units() {
        (operands.traffic(), units::launches(&operands, operation))
    } else {
        runs::best(&operands, operation, facts)?
    };
    Some((cost, parts.into_iter().map(|part| Part { memories, ..part }).collect()))
}

//! Sums whose operands lie in different orders: which of the two is the kernels' source, and sums in two passes.
//!
//! Kernels that transpose have one source that may lie in any order, and a second operand that runs as the destination does. Where only the second operand has to be
//! transposed, operands change places. Where both have to be, each in its own order, elements would be computed one by one; two passes are faster: the destination
//! becomes `β·b`, and then what `α·a` is added to. The bits are the same if `β·b` is a number of the destination; else the second operand is moved first. Where no kernel that computes is fast for the order of one operand,
//! a move and a pass that computes in order are another way ([`through`]).

use super::operands::{DST, OTHER, Operands, Other, SRC};
use super::part::Part;
use super::problem::Problem;
use super::through;
use super::wanted::{Wanted, Ways};
use super::ways::{is_by_elements, ways};
use crate::Facts;
use kernel_abi::arithmetic::{Format, Operation, flags};

/// A move and a pass in order are taken if they are said to cost so much less than one pass: what is said of either may be off by a tenth.
const GAINS: f64 = 0.85;

/// Where channels have numbers of their own, a move and a pass in order are taken if they are said to cost less than this part of one pass: what is said of either is off by a twentieth (decision 118).
const CHANNELS_GAIN: f64 = 0.95;

/// Bytes that are read and written from which on they are: two launches, and memory for what waits, take some microseconds.
const LARGE: f64 = (16 << 20) as f64;

/// The ways to go, the best first.
pub(super) fn ways_of(
    problem: &Problem,
    operation: &Operation,
    facts: &Facts,
    wanted: Wanted,
) -> Vec<Vec<Part>> {
    let operands = problem.operands();
    let swapped = swapped(problem, operation).filter(|(swapped, _)| {
        swapped.only_source_is_transposed() && !operands.only_source_is_transposed()
    });
    if let Some((operands, operation)) = swapped {
        return with(ways(&operands, &operation, facts, wanted).all, [OTHER, DST, SRC]);
    }
    let Ways { mut all, cost } = ways(&operands, operation, facts, wanted);
    // What waits is found where no axis of the destination is mirrored.
    let may_wait = operands.starts == [0; 3];
    // What stays in its order is not faster in two passes.
    if is_by_elements(&operands, &all) && !operands.are_runs() {
        let with_second_moved =
            || may_wait.then(|| through::with_second_moved(problem, operation, facts)).flatten();
        let two = in_two_passes(problem, operation, facts).or_else(with_second_moved);
        all.splice(0..0, two);
    }
    let gains = if operands.has_channels() { CHANNELS_GAIN } else { GAINS };
    let limit = cost.filter(|_| operands.traffic() >= LARGE).map(|cost| gains * cost);
    let is_wanted = may_wait && (limit.is_some() || wanted == Wanted::All);
    let two = is_wanted.then(|| through::moved_and_computed(problem, operation, facts)).flatten();
    if let Some((of_two, parts)) = two {
        let is_first = limit.is_some_and(|limit| of_two < limit);
        all.insert(if is_first { 0 } else { all.len() }, parts);
    }
    all
}

/// The same ways, with other memories for the kernel's source and second operand.
fn with(mut ways: Vec<Vec<Part>>, memories: [usize; 3]) -> Vec<Vec<Part>> {
    ways.iter_mut().flatten().for_each(|part| part.memories = memories);
    ways
}

/// The same sum with its operands in the other order, if they have the same format.
fn swapped(problem: &Problem, operation: &Operation) -> Option<(Operands, Operation)> {
    let Other::Numbers(other) = problem.other else { return None };
    // Only the source can be conjugated.
    if operation.src != operation.dst || operation.flags & flags::CONJUGATE != 0 {
        return None;
    }
    let Operation { alpha, alpha_im, beta, beta_im, .. } = *operation;
    let swapped =
        Operation { alpha: beta, alpha_im: beta_im, beta: alpha, beta_im: alpha_im, ..*operation };
    Some((Operands::of(&other, &problem.dst, &Other::Numbers(problem.src)), swapped))
}

/// The best way in two passes, unless one of them computes elements one by one, or rounds what the sum is of.
fn in_two_passes(problem: &Problem, operation: &Operation, facts: &Facts) -> Option<Vec<Part>> {
    let Other::Numbers(other) = problem.other else { return None };
    let is_wide = operation.flags & flags::WIDE != 0;
    let exact = if is_wide { Format::F64 } else { Format::F32 };
    // Of complex factors even 1 makes sums.
    if operation.dst != exact as u64 || operation.flags & flags::COMPLEX_FACTORS != 0 {
        return None;
    }
    let Operation { dst, flags: all, beta, .. } = *operation;
    let kept = all & (flags::COMPLEX | flags::WIDE);
    let scaling = Operation { src: dst, flags: kept, alpha: beta, ..*operation };
    let one = if is_wide { 1f64.to_bits() } else { u64::from(1f32.to_bits()) };
    let adding = Operation { beta: one, ..*operation };
    let pass = |src, second, operation, memories| {
        let operands = Operands::of(src, &problem.dst, &second);
        let ways = ways(&operands, &operation, facts, Wanted::Best).all;
        (!is_by_elements(&operands, &ways)).then(|| with(ways, memories).swap_remove(0))
    };
    let scaled = pass(&other, Other::None, scaling, [OTHER, DST, DST])?;
    let added = pass(&problem.src, Other::Destination, adding, [SRC, DST, DST])?;
    Some([scaled, added].concat())
}

//! What plans do: their launches. Those of recent problems are kept, so that programs which plan with each call need not wait for what was planned a moment ago.

use super::operands::Operand;
use super::part::Part;
use super::passes::ways_of;
use super::problem::Problem;
use super::wanted::Wanted;
use crate::Facts;
use crate::plan::memo::{Chip, MOST_KEPT, Memo, hash_of};
use kernel_abi::arithmetic::Operation;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a plan does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Work {
    /// Elements from each memory's element `[0, …, 0]` to where the move starts.
    pub starts: [isize; 3],
    pub parts: Vec<Part>,
    /// What is done instead where there is no memory for what waits between two passes.
    pub instead: Vec<Part>,
}

/// What a plan does, and all that it was found by.
#[derive(Clone)]
struct Recent {
    chip: Chip,
    operation: Operation,
    problem: Problem,
    work: Arc<Work>,
}

/// What has been planned lately.
static RECENT: Memo<Recent> = Memo::new();

/// The best way to go: a recent one, or a new one.
pub(super) fn best(problem: &Problem, operation: &Operation, facts: &Facts) -> Arc<Work> {
    let (hash, chip) = (hash_of(Key { problem, operation }), Chip::of(facts));
    let is_it = |recent: &Recent| {
        (recent.chip, recent.operation) == (chip, *operation) && recent.problem.is(problem)
    };
    let make = || {
        let work = planned(problem, operation, facts, Wanted::Best).swap_remove(0);
        Recent { chip, operation: *operation, problem: *problem, work: Arc::new(work) }
    };
    let are_few = |Recent { work, .. }: &Recent| work.parts.len() + work.instead.len() <= MOST_KEPT;
    RECENT.find_or(hash, is_it, make, are_few).work
}

/// The ways to go, the best first; there is one at least.
pub(super) fn planned(
    problem: &Problem,
    operation: &Operation,
    facts: &Facts,
    wanted: Wanted,
) -> Vec<Work> {
    if problem.src.layout.is_empty() {
        return vec![Work::default()];
    }
    let starts = problem.operands().starts;
    let ways = ways_of(problem, operation, facts, wanted);
    let without = ways.iter().find(|parts| waiting(parts) == 0).cloned();
    let work = |parts: Vec<Part>| {
        let instead = without.as_ref().filter(|_| waiting(&parts) > 0);
        let instead = instead.cloned().unwrap_or_default();
        Work { starts, parts, instead }
    };
    ways.into_iter().map(work).collect()
}

/// Bytes of an element that waits between two of these parts, in memory that a plan takes while it runs.
pub(super) fn waiting(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.waiting).max().unwrap_or(0)
}

/// By what a plan is looked for: how memories are laid out, and what is computed.
struct Key<'a> {
    problem: &'a Problem,
    operation: &'a Operation,
}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Problem { src, dst, .. } = self.problem;
        (src.element_bytes, dst.element_bytes, src.align, dst.align).hash(state);
        let of_axis = |operand: &Operand, axis: usize| operand.layout.strides()[axis];
        for (axis, length) in src.layout.shape().iter().enumerate() {
            (length, of_axis(src, axis), of_axis(dst, axis)).hash(state);
        }
        let Operation { src, dst, flags, alpha, beta, .. } = *self.operation;
        [src, dst, flags, alpha, beta].into_iter().for_each(|bits| state.write_u64(bits));
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::operands::Other;
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;
    use kernel_abi::arithmetic::{Format, flags};

    /// What differs in nothing but an alignment, the chip, a factor, or the second operand, is planned by itself.
    #[test]
    fn what_is_kept_is_what_would_be_planned() {
        let operand = |shape: &[usize], order: &[usize], align| {
            let layout = TensorLayout::contiguous(shape, 4).unwrap().permute_axes(order).unwrap();
            Operand { layout, element_bytes: 4, align }
        };
        // With less shared memory other tiles and boxes are cut.
        let small = Facts { block_shared: 48 << 10, multiprocessors: 4, ..Facts::simulated() };
        let format = Format::F32 as u64;
        let none = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let scaling = Operation { src: format, dst: format, dst_bytes: 4, ..none };
        // So many that some are looked for in one place.
        let shapes = (0..16).map(|more| ([3000 + more, 9, 11 + more % 3], [0, 2, 1]));
        let shapes = shapes.chain([([300, 70, 41], [2, 1, 0]), ([300, 41, 70], [2, 0, 1])]);
        for (shape, order) in shapes {
            for align in [4, 16] {
                let src = operand(&shape, &order, align);
                let turned: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
                let dst = operand(&turned, &[0, 1, 2], 16);
                let numbers = Other::Numbers(Operand { align, ..dst });
                for other in [Other::None, Other::Destination, numbers] {
                    let problem = Problem { src, dst, other };
                    let flags = if other.is_added() { flags::OTHER } else { 0 };
                    for alpha in [0.5f32, 2.0] {
                        let alpha = u64::from(alpha.to_bits());
                        let operation = &Operation { flags, alpha, ..scaling };
                        for facts in [&Facts::simulated(), &small] {
                            let of_all = planned(&problem, operation, facts, Wanted::Best);
                            for turn in 0..2 {
                                let work = best(&problem, operation, facts);
                                assert_eq!(*work, of_all[0], "turn {turn}");
                            }
                        }
                    }
                }
            }
        }
    }
}

//! The planner of `compute_runs` and `compute_runs_by_pairs`: what lies together in all memories, in stretches that start anywhere.

use super::super::canonical::Canonical;
use super::super::gaps::Gaps;
use super::super::model::{cost_of_computed_runs, cost_of_computed_units, cost_of_gaps, idle};
use super::super::sectors::{SECTOR, sectors_of_one};
use super::super::side::starts_on;
use super::operands::{Axis, DST, OTHER, Operands, Other, SRC, halves};
use super::part::Part;
use super::tiles::in_words_of;
use super::units::divided;
use crate::divide::packed_divisor;
use crate::facts::Facts;
use kernel_abi::arithmetic::{
    COMPUTE_RUNS, COMPUTE_RUNS_BY_PAIRS, ComputeRuns, MOST_RUN_STEPS, Operation, RUN_THREADS,
};
use kernel_abi::fast::WARP;
use kernel_abi::tensor::Fetching;

/// Threads of a launch: every part's number, those past the end included, is below what a kernel divides.
const MOST_THREADS: usize = (1 << 31) - RUN_THREADS as usize;

/// Bytes of a run at most, of either side: a kernel counts them in 32 bits.
const MOST: usize = 1 << 30;

/// Bytes of a run, of the side whose elements have more, from which on it is looked at: shorter ones are mostly parts of units.
const LEAST: usize = 64;

/// The launches, and what the model says that they cost; `None` where elements do not lie together in all memories, or where `compute_units` has whole units of them.
pub(super) fn best(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
) -> Option<(f64, Vec<Part>)> {
    let serves = serves(operands, operation);
    serves.then(|| {
        let gaps = gaps_of(operands);
        let of_gaps = gaps.as_ref().map_or(0.0, |(to, gaps)| cost_of_gaps(to, gaps, true));
        let (run, others) = operands.axes.split_first().expect("a move of runs has their axis");
        let runs = Runs {
            operands,
            operation,
            gaps: gaps.as_ref().map(|(_, gaps)| gaps),
            run: *run,
            others,
        };
        (runs.cost(of_gaps, facts), runs.launches())
    })
}

/// The destination's words and their gaps, of which parts of sectors cost; `None` where what it holds is added, for all of that is loaded before it is stored.
pub(super) fn gaps_of(operands: &Operands) -> Option<(Canonical, Gaps)> {
    let to = (operands.other != Other::Destination).then(|| in_words_of(operands, DST))?;
    let gaps = Gaps::of(&to);
    Some((to, gaps))
}

/// Whether a kernel serves.
fn serves(operands: &Operands, operation: &Operation) -> bool {
    let Some(run) = operands.axes.first() else { return false };
    let bytes = run.length * operands.bytes[SRC].max(operands.bytes[DST]);
    // Then there is a unit that needs nothing but what is the run's.
    let is_long = bytes >= LEAST && run.length >= 4 * operands.unit();
    if operands.has_channels() {
        // All of a run is of one channel.
        return run.strides == [1, 1, 0] && is_long && operands.has_narrow_pairs(operation);
    }
    // Units of one element are whole ones anywhere.
    let may_be_off = operands.unit() > 1 && !operands.are_in_units();
    operands.are_runs() && is_long && may_be_off
}

/// How a run is shared out to lanes of warps.
#[derive(Clone, Copy)]
struct Share {
    /// log2 of the lanes that have a part.
    lanes: u32,
    parts: usize,
    /// Units that each has of it at most.
    steps: usize,
}

impl Share {
    fn of(units: usize, lanes: u32) -> Self {
        let steps = units.div_ceil(1 << lanes).max(1);
        let parts = steps.div_ceil(MOST_RUN_STEPS as usize);
        Share { lanes, parts, steps: steps.div_ceil(parts) }
    }

    /// What a run's instructions cost, of a sum or not.
    fn cost(self, is_sum: bool) -> f64 {
        let of_warp = f64::from(1 << self.lanes) / f64::from(WARP);
        let is_one = 1 << self.lanes == WARP;
        self.parts as f64 * of_warp * cost_of_computed_units(self.steps, is_one, is_sum)
    }
}

/// The runs of a move.
struct Runs<'a> {
    operands: &'a Operands,
    operation: &'a Operation,
    /// Those of the destination, if nothing else loads what is beside them.
    gaps: Option<&'a Gaps>,
    run: Axis,
    others: &'a [Axis],
}

impl Runs<'_> {
    /// What the model says of them, whose gaps cost so much.
    fn cost(&self, of_gaps: f64, facts: &Facts) -> f64 {
        let Runs { operands, run, others, .. } = *self;
        let runs = others.iter().map(|axis| axis.length as f64).product::<f64>();
        let of_side = |side: usize| {
            let strides = || others.iter().map(|axis| axis.strides[side]);
            let bytes = operands.bytes[side];
            let aligned = starts_on(operands.aligned[side], strides(), bytes, SECTOR);
            let nearest = strides().map(isize::unsigned_abs).filter(|&by| by >= run.length).min();
            runs * sectors_of_one(run.length, nearest.unwrap_or(usize::MAX), bytes, aligned)
        };
        let second = if operands.other.is_added() { of_side(OTHER) } else { 0.0 };
        let moved = of_side(SRC) + of_side(DST) + second;
        let share = self.share();
        let blocks = runs * (share.parts << share.lanes) as f64 / f64::from(RUN_THREADS);
        let issued = runs * share.cost(operands.other.is_added());
        cost_of_computed_runs(moved, issued, of_gaps) * idle(blocks, facts)
    }

    /// How a run is shared out, so that warps issue the fewest instructions.
    fn share(&self) -> Share {
        let (unit, warp) = (self.operands.unit(), WARP.trailing_zeros());
        // An element of a run's start or end each.
        let least = (4 * unit).trailing_zeros();
        let lanes = (least..=warp).rev().map(|lanes| Share::of(self.run.length / unit, lanes));
        let cost = |share: &Share| share.cost(self.operands.other.is_added());
        let least = lanes.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        least.expect("there are numbers of lanes")
    }

    /// Threads of all.
    fn threads(&self) -> Option<usize> {
        let share = self.share();
        let lengths = self.others.iter().map(|axis| axis.length);
        lengths.into_iter().try_fold(share.parts << share.lanes, usize::checked_mul)
    }

    fn launches(&self) -> Vec<Part> {
        let mut launches = Vec::new();
        self.split(&self.operands.axes, [0; 3], &mut launches);
        launches
    }

    /// Launches for these axes, `offsets` elements further: in halves of the slowest axis until there are not too many.
    fn split(&self, axes: &[Axis], offsets: [isize; 3], launches: &mut Vec<Part>) {
        let (run, others) = axes.split_first().expect("a move of runs has their axis");
        let part = Runs { run: *run, others, ..*self };
        let bytes = run.length * self.operands.bytes.into_iter().max().unwrap_or(1);
        if bytes <= MOST && part.threads().is_some_and(|all| all <= MOST_THREADS) {
            launches.push(part.one(offsets));
            return;
        }
        // Runs that are too long themselves, or else what they are along the slowest axis that has several.
        let slowest = (0..axes.len()).rev().find(|&axis| axes[axis].length > 1);
        let cut = if bytes > MOST { 0 } else { slowest.unwrap_or(0) };
        let multiple = if cut == 0 { self.operands.unit() } else { 1 };
        let half = (axes[cut].length / 2).next_multiple_of(multiple);
        for (part, offsets) in halves(axes, cut, half, 1, offsets) {
            self.split(&part, offsets, launches);
        }
    }

    /// One launch.
    fn one(&self, offsets: [isize; 3]) -> Part {
        let Runs { operands, operation, gaps, run, others } = *self;
        let Share { lanes, parts, steps } = self.share();
        let all = parts * others.iter().map(|axis| axis.length).product::<usize>();
        let fetch = gaps.map_or(Fetching::None, |gaps| gaps.fetch_ends_of(run.length)) as u64;
        let params = ComputeRuns {
            operation: *operation,
            axes: divided(others, 1),
            count: others.len() as u64,
            elements: run.length as u64,
            parts: packed_divisor(parts),
            lanes: u64::from(lanes),
            steps: steps as u64,
            fetch,
        };
        let bytes = operands.bytes.map(|bytes| bytes as isize);
        let blocks = (all << lanes).div_ceil(RUN_THREADS as usize);
        let kernel = if operands.has_channels() { &COMPUTE_RUNS_BY_PAIRS } else { &COMPUTE_RUNS };
        Part::counted(kernel, blocks, RUN_THREADS, [offsets, bytes], &params)
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::operands::Operand;
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;
    use kernel_abi::arithmetic::unit;

    /// The launches for arrays whose rows have a gap behind them, of numbers of 1 byte that become 2.
    fn of(shape: &[usize]) -> Vec<Part> {
        let operation = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let operand = |element_bytes, gap: usize| {
            let last = *shape.last().unwrap();
            let strides: Vec<isize> = match shape.len() {
                1 => vec![1],
                _ => vec![(last + gap) as isize, 1],
            };
            let layout = TensorLayout::strided(shape, &strides, 0, element_bytes).unwrap();
            Operand { layout, element_bytes, align: element_bytes }
        };
        let operands = Operands::of(&operand(1, 1), &operand(2, 3), &Other::None);
        best(&operands, &operation, &Facts::simulated()).map_or(Vec::new(), |(_, parts)| parts)
    }

    #[test]
    fn launches_have_all_elements() {
        for shape in [&[3 << 30][..], &[(1 << 33) + 77], &[200_000_000, 65], &[5, 1 << 31]] {
            let mut elements = 0;
            for part in of(shape) {
                let params: ComputeRuns = part.launch.params.to().unwrap();
                let parts = params.parts as u32 as u64;
                let threads = u64::from(part.launch.grid[0]) * u64::from(RUN_THREADS);
                let lengths = params.axes[..params.count as usize].iter();
                let runs = lengths.map(|axis| axis.divisor as u32 as u64).product::<u64>();
                let units = params.elements / unit(1, 2) as u64;
                assert!(params.elements <= 1 << 29 && units >= 4, "{shape:?}: {params:?}");
                assert!(
                    threads < 1 << 31 && (runs * parts) << params.lanes <= threads,
                    "{params:?}"
                );
                assert!(params.steps <= 4, "{params:?}");
                assert!(parts * (params.steps << params.lanes) >= units, "{params:?}");
                elements += params.elements * runs;
            }
            assert_eq!(elements, shape.iter().product::<usize>() as u64, "{shape:?}");
        }
    }

    #[test]
    fn short_runs_are_left_to_others() {
        assert_eq!((of(&[1000, 31]).len(), of(&[1000, 32]).len()), (0, 1));
    }
}

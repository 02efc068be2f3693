//! The plan for the move of a tensor: made, measured, run, and printed.

use super::canonical::Canonical;
use super::problem::{TensorProblem, problem, problem_of_layouts};
use super::ways::{Estimated, Settled, Ways};
use super::{boxes, model, tiles};
use crate::device::{Step, across, require_one_memory};
use crate::launch::Launch;
use crate::plan::measure::{PlanCache, measured};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Facts, Result};
use bytemuck::Pod;
use kernel_abi::tensor::Mask;
use std::fmt;

/// The move of one tensor to another, checked, that only waits to be run: a [`Plan`](crate::Plan), whose methods `moving` and so on say what these
/// do.
#[derive(Clone, Debug)]
pub(crate) struct TensorPlan {
    /// Hundreds of bytes, which are not to be moved with the plan.
    problem: Box<TensorProblem>,
    /// Bytes from each side's element `[0, …, 0]` to the address that launches are given.
    starts: [isize; 2],
    pub(super) way: Way,
    /// Whether elements are conjugated on the way.
    conjugates: bool,
    /// The fraction of a copy's speed that the model expects.
    expected: f64,
}

/// How a move goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// As one stretch of so many bytes.
    Copy(usize),
    /// By kernels.
    Launches(Vec<Launch>),
}

/// The best plan for a problem.
pub(super) fn best(problem: &TensorProblem, facts: &Facts, flips: Option<Mask>) -> TensorPlan {
    match Ways::of(problem, facts, flips) {
        Ok(ref ways) => TensorPlan::of_way(problem, ways, ways.best()),
        Err(settled) => TensorPlan::of_settled(problem, settled, flips),
    }
}

/// The plans for a problem, the best first.
pub(super) fn candidates(
    problem: &TensorProblem,
    facts: &Facts,
    flips: Option<Mask>,
) -> Vec<TensorPlan> {
    let ways = match Ways::of(problem, facts, flips) {
        Ok(ways) => ways,
        Err(settled) => return vec![TensorPlan::of_settled(problem, settled, flips)],
    };
    let plan = |way| TensorPlan::of_way(problem, &ways, way);
    ways.candidates().into_iter().map(plan).collect()
}

impl TensorPlan {
    /// The plan that goes such a way of a problem.
    pub(super) fn of_way(problem: &TensorProblem, ways: &Ways<'_>, way: Estimated) -> Self {
        let Estimated { cost, launches } = way;
        let (problem, starts) = (Box::new(*problem), ways.canonical.starts);
        let expected = model::expected(&ways.canonical, cost, launches.len());
        let (way, conjugates) = (Way::Launches(launches), ways.flips.is_some());
        TensorPlan { problem, starts, way, conjugates, expected }
    }

    /// The plan for a problem of which nothing is left to choose.
    fn of_settled(problem: &TensorProblem, settled: Settled, flips: Option<Mask>) -> Self {
        let (starts, way) = match settled {
            Settled::Nothing => ([0, 0], Way::Launches(Vec::new())),
            Settled::Stretch { starts, bytes } => (starts, Way::Copy(bytes)),
        };
        let (problem, conjugates) = (Box::new(*problem), flips.is_some());
        TensorPlan { problem, starts, way, conjugates, expected: 1.0 }
    }

    pub fn new<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        let src = src.into();
        let problem = problem(&src, &dst.into())?;
        Ok(best(&problem, src.device().facts(), None))
    }

    pub fn for_layouts(
        element_bytes: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
        facts: &Facts,
    ) -> Result<Self> {
        let problem = problem_of_layouts(element_bytes, src, dst)?;
        Ok(best(&problem, facts, None))
    }

    pub fn candidates_for_layouts(
        element_bytes: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
        facts: &Facts,
    ) -> Result<Vec<Self>> {
        let problem = problem_of_layouts(element_bytes, src, dst)?;
        Ok(candidates(&problem, facts, None))
    }

    pub fn candidates<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        let src = src.into();
        let problem = problem(&src, &dst.into())?;
        Ok(candidates(&problem, src.device().facts(), None))
    }

    pub fn measure<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        let (src, mut dst) = (src.into(), dst.into());
        let plans = Self::candidates(src, dst.reborrow())?;
        Self::fastest(src, dst, plans, cache)
    }

    /// The fastest of some plans for the same move, of which the first is the model's choice.
    pub(super) fn fastest<T: Pod>(
        src: TensorView<'_, T>,
        mut dst: TensorViewMut<'_, T>,
        plans: Vec<Self>,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        require_one_memory(src.device(), dst.device())?;
        let estimate = plans[0].clone();
        let Way::Launches(_) = &estimate.way else { return Ok(estimate) };
        if estimate.problem.src.is_empty() {
            return Ok(estimate);
        }
        let key = Canonical::of(&estimate.problem).key(estimate.conjugates);
        let ways = plans.into_iter().map(|plan| (plan.way.to_string(), plan)).collect();
        let run = |plan: &Self| plan.run(src, dst.reborrow());
        Ok(measured(src.device(), cache, &key, ways, run)?.unwrap_or(estimate))
    }

    pub fn expected(&self) -> f64 {
        self.expected
    }

    pub fn kernel_names(&self) -> Vec<&'static str> {
        match &self.way {
            Way::Copy(_) => Vec::new(),
            Way::Launches(launches) => launches.iter().map(|launch| launch.entry.name).collect(),
        }
    }

    /// What will be launched.
    pub fn launches_mut(&mut self) -> &mut [Launch] {
        match &mut self.way {
            Way::Copy(_) => &mut [],
            Way::Launches(launches) => launches,
        }
    }

    pub fn run<'s, 'd, T: Pod>(
        &self,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<()> {
        let (src, dst) = (src.into(), dst.into());
        let actual = problem(&src, &dst)?;
        if !self.problem.serves(&actual) {
            let (planned, actual) = (self.problem.to_string(), actual.to_string());
            return Err(Error::PlanMismatch { planned, actual });
        }
        let [from, to] = self.starts_in([src.address(), dst.address()]);
        across(src.device(), dst.device(), |device| match &self.way {
            // SAFETY: all elements of both views, which lie in live memory, of which that of `dst` is borrowed exclusively.
            Way::Copy(bytes) => unsafe { device.copy(from, to, *bytes) },
            Way::Launches(launches) => launches.iter().try_for_each(|launch| {
                // SAFETY: the plan was made for these layouts, whose elements lie in live memory, and for no addresses less
                // aligned; `dst` is borrowed exclusively, and no two indices lead to one of its elements.
                unsafe { device.launch(launch, [from, to]) }
            }),
        })
    }

    /// What [`run`](Self::run) queues for elements `[0, …, 0]` at these addresses, which tensors that the plan is for have.
    pub(crate) fn steps(&self, addresses: [u64; 2]) -> Vec<Step> {
        let [src, dst] = self.starts_in(addresses);
        match &self.way {
            Way::Copy(bytes) => vec![Step::Copy { dst, src, bytes: *bytes }],
            Way::Launches(launches) => {
                launches.iter().map(|launch| Step::Launch(launch.clone(), [src, dst])).collect()
            }
        }
    }

    /// Where the move starts on both sides, of tensors whose elements `[0, …, 0]` are at these addresses.
    pub(super) fn starts_in(&self, addresses: [u64; 2]) -> [u64; 2] {
        [0, 1].map(|side| addresses[side].wrapping_add_signed(self.starts[side] as i64))
    }
}

impl fmt::Display for TensorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conjugated = if self.conjugates { ", conjugated" } else { "" };
        let TensorPlan { problem, way, expected, .. } = self;
        write!(f, "{problem}{conjugated}: {way}; about {expected:.2} of a copy")
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launches = match self {
            Way::Copy(bytes) => return write!(f, "a copy of {bytes} bytes"),
            Way::Launches(launches) => launches,
        };
        for (number, launch) in launches.iter().enumerate() {
            let Launch { entry, grid, block, .. } = launch;
            let and = if number > 0 { " " } else { "" };
            write!(f, "{and}{} on {grid:?} blocks of {block:?} threads", entry.name)?;
            if let Some(tiles) = tiles::describe(launch).or_else(|| boxes::describe(launch)) {
                write!(f, ", {tiles}")?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use crate::plan::problem::MOST_BYTES;
    use proptest::prelude::*;

    /// An array of these lengths whose axes come in this order, with gaps of `slack` elements behind the rows of the source or the destination.
    fn problem(
        shape: &[usize],
        order: &[usize],
        element: usize,
        slack: [usize; 2],
    ) -> TensorProblem {
        let layout = |shape: &[usize], slack: usize| {
            let mut strides = vec![1isize; shape.len()];
            for axis in (1..shape.len()).rev() {
                let gap = if axis + 1 == shape.len() { slack } else { 0 };
                strides[axis - 1] = strides[axis] * (shape[axis] + gap) as isize;
            }
            TensorLayout::strided(shape, &strides, 0, element).unwrap()
        };
        let src = layout(shape, slack[0]).permute_axes(order).unwrap();
        let dst = layout(src.shape(), slack[1]);
        TensorProblem { element_bytes: element, src, dst, src_align: 16, dst_align: 16 }
    }

    /// Lengths of axes, ones and long ones among them, of up to 2⁴⁰ elements.
    fn any_shape() -> impl proptest::strategy::Strategy<Value = Vec<usize>> {
        let length = prop_oneof![1..4usize, 2..70usize, (0..33u32).prop_map(|bits| 1 << bits)];
        proptest::collection::vec(length, 1..=16).prop_map(|mut shape| {
            let mut left = 1usize << 40;
            for length in &mut shape {
                *length = (*length).min(left);
                left /= *length;
            }
            shape
        })
    }

    proptest! {
        /// Also where the best tiles or boxes are more, or of more axes, than a launch can have.
        #[test]
        fn what_is_taken_is_the_first_candidate(
            shape in any_shape(),
            keys in proptest::array::uniform16(0..1000u32),
            element in prop_oneof![1..=24usize, Just(4)],
            slack in [0..3usize, 0..3usize],
        ) {
            let mut order: Vec<usize> = (0..shape.len()).collect();
            order.sort_by_key(|&axis| keys[axis]);
            if shape.iter().product::<usize>() > MOST_BYTES / element / 4 {
                return Ok(());
            }
            let facts = Facts { multiprocessors: 132, ..Facts::simulated() };
            let problem = problem(&shape, &order, element, slack);
            let (best, all) = (best(&problem, &facts, None), candidates(&problem, &facts, None));
            prop_assert_eq!(&best.way, &all[0].way);
            prop_assert!(best.expected.is_finite() && best.expected > 0.0);
            prop_assert!(all.iter().all(|way| best.expected * 2.0 >= way.expected), "{}", best);
        }
    }

    #[test]
    fn no_way_is_half_as_fast_as_another() {
        let facts = Facts { multiprocessors: 132, ..Facts::simulated() };
        let orders: [&[usize]; 5] = [&[1, 0], &[2, 1, 0], &[0, 2, 1], &[1, 2, 0], &[3, 1, 0, 2]];
        let mut looked_at = 0;
        for element in [1, 2, 3, 4, 7, 8, 12, 16, 20, 36] {
            for order in orders {
                for (few, middle, many) in
                    [(2, 3, 5), (3, 40, 64), (5, 17, 400), (33, 2, 1500), (7, 90, 2600)]
                {
                    let lengths = [few, many, middle, 6];
                    for turn in 0..order.len() {
                        let mut shape = lengths[..order.len()].to_vec();
                        shape.rotate_left(turn);
                        for slack in [[0, 0], [1, 0], [0, 3], [30, 17]] {
                            let problem = problem(&shape, order, element, slack);
                            let Ok(ways) = Ways::of(&problem, &facts, None) else { continue };
                            let alone = ways.best().launches;
                            let plans = candidates(&problem, &facts, None);
                            assert!(plans[0].way == Way::Launches(alone), "{}", plans[0]);
                            let best = plans.iter().map(TensorPlan::expected).fold(0.0, f64::max);
                            let taken = plans[0].expected();
                            assert!(
                                taken * 2.0 >= best,
                                "{}: {taken:.2} where {best:.2} is expected",
                                plans[0]
                            );
                            looked_at += 1;
                        }
                    }
                }
            }
        }
        assert!(looked_at > 1000, "{looked_at}");
    }
}

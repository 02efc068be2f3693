//! The plan for the move of a tensor: made, measured, run, and printed.

use super::canonical::Canonical;
use super::problem::{Kept, TensorProblem, problem, problem_of_layouts};
use super::ways::{Estimated, Stretch, Ways};
use super::{boxes, model, runs, tiles};
use crate::device::{Step, across, require_one_memory};
use crate::launch::Launch;
use crate::plan::measure::{PlanCache, measured};
use crate::plan::memo::{Chip, MOST_KEPT, Memo, hash_of};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Facts, Result};
use bytemuck::Pod;
use kernel_abi::tensor::Mask;
use std::fmt;
use std::sync::Arc;

/// The move of one tensor to another, checked, that only waits to be run: a [`Plan`](crate::Plan), whose methods `moving` and so on say what these
/// do.
#[derive(Clone, Debug)]
pub(crate) struct TensorPlan(Arc<Planned>);

/// What a plan is: hundreds of bytes, which are not to be moved with it.
#[derive(Clone, Debug)]
struct Planned {
    problem: Kept,
    /// Bytes from each side's element `[0, …, 0]` to the address that launches are given.
    starts: [isize; 2],
    way: Way,
    /// Whether elements are conjugated on the way.
    conjugates: bool,
    /// The fraction of a copy's speed that the model expects.
    expected: f64,
}

/// How a move goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// As one stretch of so many bytes, by the driver; or by launches, if there are any, where its sides are [askew](runs::are_askew).
    Copy(usize, Vec<Launch>),
    /// By kernels.
    Launches(Vec<Launch>),
}

/// What a plan does of memory whose addresses are known.
enum Work<'a> {
    /// Lets the driver copy so many bytes.
    Copy(usize),
    Launches(&'a [Launch]),
}

/// A plan that was made, and what it was made by beside the problem that it keeps.
#[derive(Clone)]
struct Recent {
    chip: Chip,
    flips: Option<Mask>,
    plan: TensorPlan,
}

/// What has been planned lately.
static RECENT: Memo<Recent> = Memo::new();

/// The best plan for a problem: a recent one, or a new one.
pub(super) fn best(problem: &TensorProblem<'_>, facts: &Facts, flips: Option<Mask>) -> TensorPlan {
    // Of little what is planned at once will do: it takes no longer than finding it.
    if problem.bytes() < model::SMALL {
        return planned(problem, facts, flips);
    }
    let (hash, chip) = (hash_of(problem), Chip::of(facts));
    let is_it = |recent: &Recent| {
        (recent.chip, recent.flips) == (chip, flips) && recent.plan.0.problem.is(problem)
    };
    let make = || Recent { chip, flips, plan: planned(problem, facts, flips) };
    let are_few = |recent: &Recent| matches!(recent.plan.way(), Way::Launches(launches) if launches.len() <= MOST_KEPT);
    RECENT.find_or(hash, is_it, make, are_few).plan
}

/// The best plan for a problem.
fn planned(problem: &TensorProblem<'_>, facts: &Facts, flips: Option<Mask>) -> TensorPlan {
    if problem.is_empty() {
        return TensorPlan::of_nothing(problem, flips);
    }
    let canonical = Canonical::of(problem);
    match Ways::of(&canonical, facts, flips) {
        Ok(ref ways) => TensorPlan::of_way(problem, ways, ways.best()),
        Err(stretch) => TensorPlan::of_stretch(problem, &canonical, stretch),
    }
}

/// The plans for a problem, the best first.
pub(super) fn candidates(
    problem: &TensorProblem<'_>,
    facts: &Facts,
    flips: Option<Mask>,
) -> Vec<TensorPlan> {
    if problem.is_empty() {
        return vec![TensorPlan::of_nothing(problem, flips)];
    }
    let canonical = Canonical::of(problem);
    let ways = match Ways::of(&canonical, facts, flips) {
        Ok(ways) => ways,
        Err(stretch) => return vec![TensorPlan::of_stretch(problem, &canonical, stretch)],
    };
    let plan = |way| TensorPlan::of_way(problem, &ways, way);
    ways.candidates().into_iter().map(plan).collect()
}

impl TensorPlan {
    /// The plan that goes such a way of a problem.
    pub(super) fn of_way(problem: &TensorProblem<'_>, ways: &Ways<'_>, way: Estimated) -> Self {
        let Estimated { cost, launches } = way;
        let (problem, starts) = (Kept::of(problem), ways.canonical.starts);
        let expected = model::expected(ways.canonical, cost, launches.len());
        let (way, conjugates) = (Way::Launches(launches), ways.flips.is_some());
        TensorPlan(Arc::new(Planned { problem, starts, way, conjugates, expected }))
    }

    /// The plan for a problem in which nothing moves.
    fn of_nothing(problem: &TensorProblem<'_>, flips: Option<Mask>) -> Self {
        let (problem, way) = (Kept::of(problem), Way::Launches(Vec::new()));
        let conjugates = flips.is_some();
        TensorPlan(Arc::new(Planned { problem, starts: [0, 0], way, conjugates, expected: 1.0 }))
    }

    /// The plan for a problem that is one stretch of memory.
    fn of_stretch(problem: &TensorProblem<'_>, canonical: &Canonical, bytes: Stretch) -> Self {
        let (starts, way) =
            (canonical.starts, Way::Copy(bytes.0, runs::launches_of_stretch(canonical)));
        let (problem, conjugates) = (Kept::of(problem), false);
        TensorPlan(Arc::new(Planned { problem, starts, way, conjugates, expected: 1.0 }))
    }

    pub fn new<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        let (src, dst) = (src.into(), dst.into());
        let problem = problem(&src, &dst)?;
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
        let (src, dst) = (src.into(), dst.into());
        let problem = problem(&src, &dst)?;
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
        let Way::Launches(_) = &estimate.0.way else { return Ok(estimate) };
        if src.is_empty() {
            return Ok(estimate);
        }
        let key = Canonical::of(&problem(&src, &dst)?).key(estimate.0.conjugates);
        let ways = plans.into_iter().map(|plan| (plan.0.way.to_string(), plan)).collect();
        let run = |plan: &Self| plan.run(src, dst.reborrow());
        Ok(measured(src.device(), cache, &key, ways, run)?.unwrap_or(estimate))
    }

    pub fn expected(&self) -> f64 {
        self.0.expected
    }

    pub fn kernel_names(&self) -> Vec<&'static str> {
        match &self.0.way {
            Way::Copy(..) => Vec::new(),
            Way::Launches(launches) => launches.iter().map(|launch| launch.entry.name).collect(),
        }
    }

    pub(super) fn way(&self) -> &Way {
        &self.0.way
    }

    pub(super) fn way_mut(&mut self) -> &mut Way {
        &mut Arc::make_mut(&mut self.0).way
    }

    /// What will be launched.
    pub fn launches_mut(&mut self) -> &mut [Launch] {
        match self.way_mut() {
            Way::Copy(_, launches) => launches,
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
        if !self.0.problem.serves(&actual) {
            let (planned, actual) = (self.0.problem.to_string(), Kept::of(&actual).to_string());
            return Err(Error::PlanMismatch { planned, actual });
        }
        let [from, to] = self.starts_in([src.address(), dst.address()]);
        across(src.device(), dst.device(), |device| match self.work([from, to]) {
            // SAFETY: all elements of both views, which lie in live memory, of which that of `dst` is borrowed exclusively.
            Work::Copy(bytes) => unsafe { device.copy(from, to, bytes) },
            Work::Launches(launches) => launches.iter().try_for_each(|launch| {
                // SAFETY: the plan was made for these layouts, whose elements lie in live memory, and for no addresses less
                // aligned; `dst` is borrowed exclusively, and no two indices lead to one of its elements.
                unsafe { device.launch(launch, [from, to]) }
            }),
        })
    }

    /// What [`run`](Self::run) queues for elements `[0, …, 0]` at these addresses, which tensors that the plan is for have.
    pub(crate) fn steps(&self, addresses: [u64; 2]) -> Vec<Step> {
        let [src, dst] = self.starts_in(addresses);
        match self.work([src, dst]) {
            Work::Copy(bytes) => vec![Step::Copy { dst, src, bytes }],
            Work::Launches(launches) => {
                launches.iter().map(|launch| Step::Launch(launch.clone(), [src, dst])).collect()
            }
        }
    }

    /// What there is to do for a move that starts at these addresses.
    fn work(&self, starts: [u64; 2]) -> Work<'_> {
        match &self.0.way {
            Way::Copy(_, launches) if !launches.is_empty() && runs::are_askew(starts) => {
                Work::Launches(launches)
            }
            Way::Copy(bytes, _) => Work::Copy(*bytes),
            Way::Launches(launches) => Work::Launches(launches),
        }
    }

    /// Where the move starts on both sides, of tensors whose elements `[0, …, 0]` are at these addresses.
    pub(super) fn starts_in(&self, addresses: [u64; 2]) -> [u64; 2] {
        [0, 1].map(|side| addresses[side].wrapping_add_signed(self.0.starts[side] as i64))
    }
}

impl fmt::Display for TensorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conjugated = if self.0.conjugates { ", conjugated" } else { "" };
        let Planned { problem, way, expected, .. } = &*self.0;
        write!(f, "{problem}{conjugated}: {way}; about {expected:.2} of a copy")
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launches = match self {
            Way::Copy(bytes, _) => return write!(f, "a copy of {bytes} bytes"),
            Way::Launches(launches) => launches,
        };
        for (number, launch) in launches.iter().enumerate() {
            let Launch { entry, grid, block, .. } = launch;
            let and = if number > 0 { " " } else { "" };
            write!(f, "{and}{} on {grid:?} blocks of {block:?} threads", entry.name)?;
            let tiles = tiles::describe(launch).or_else(|| boxes::describe(launch));
            if let Some(what) = tiles.or_else(|| runs::describe(launch)) {
                write!(f, ", {what}")?;
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

    /// The layouts of an array of these lengths whose axes come in this order, with gaps of `slack` elements behind the rows of the source or the
    /// destination.
    fn layouts(
        shape: &[usize],
        order: &[usize],
        element: usize,
        slack: [usize; 2],
    ) -> [TensorLayout; 2] {
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
        [src, dst]
    }

    fn problem(element_bytes: usize, [src, dst]: &[TensorLayout; 2]) -> TensorProblem<'_> {
        TensorProblem { element_bytes, src, dst, src_align: 32, dst_align: 32 }
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
            let facts = Facts::h200();
            let layouts = layouts(&shape, &order, element, slack);
            let problem = problem(element, &layouts);
            let (best, all) = (best(&problem, &facts, None), candidates(&problem, &facts, None));
            prop_assert_eq!(&best.0.way, &all[0].0.way);
            prop_assert!(best.0.expected.is_finite() && best.0.expected > 0.0);
            prop_assert!(all.iter().all(|way| best.0.expected * 2.0 >= way.0.expected), "{}", best);
        }
    }

    /// Short rows or columns of a tile that lie together with its others are no parts of bursts.
    #[test]
    fn tiles_have_short_rows_that_lie_together() {
        let facts = Facts::h200();
        for (element, shape, order) in [
            // A tile's six words of the source follow each other along the destination's fastest axis; four words of the destination along the source's axes.
            (8, [2, 1536, 256, 3, 2], [1, 0, 3, 4, 2]),
            (4, [4, 768, 2048, 2, 2], [3, 1, 2, 4, 0]),
        ] {
            let layouts = layouts(&shape, &order, element, [0, 0]);
            let plan = best(&problem(element, &layouts), &facts, None);
            assert!(plan.0.way.to_string().starts_with("tiles"), "{plan}");
        }
    }

    /// Few columns of 2 bytes go by the kernel for those also in batches, where these start on sectors.
    #[test]
    fn few_columns_of_batches_that_start_on_sectors() {
        let facts = Facts::h200();
        for [count, rows, cols] in [[8, 768 * 192, 24], [1024, 1024, 32]] {
            let layouts = layouts(&[count, rows, cols], &[0, 2, 1], 2, [0, 0]);
            let plan = best(&problem(2, &layouts), &facts, None);
            assert!(plan.0.way.to_string().starts_with("tall_b2"), "{plan}");
        }
    }

    /// Whatever of what a plan depends on differs, from another one's that is kept; and what is done to a plan is not done to what is kept.
    #[test]
    fn what_is_kept_is_what_would_be_planned() {
        let mut chips = Vec::new();
        for (multiprocessors, block_shared) in [(132, 227 << 10), (4, 227 << 10), (132, 48 << 10)] {
            chips.push(Facts { multiprocessors, block_shared, ..Facts::simulated() });
        }
        let flips =
            [None, Some(Mask { low: 1 << 63, high: 0 }), Some(Mask { low: 0, high: 1 << 63 })];
        for (shape, order) in [([300, 70, 41], [2, 1, 0]), ([300, 41, 70], [2, 0, 1])] {
            for element in [16, 8] {
                for slack in [[0, 0], [0, 1], [3, 0]] {
                    let layouts = layouts(&shape, &order, element, slack);
                    for aligned in [[16, 16], [8, 16], [16, 8]] {
                        let [src_align, dst_align] = aligned;
                        let problem = problem(element, &layouts);
                        let problem = TensorProblem { src_align, dst_align, ..problem };
                        for (facts, flips) in
                            chips.iter().flat_map(|facts| flips.map(|flips| (facts, flips)))
                        {
                            let worse = Kept::of(&TensorProblem { src_align: 4, ..problem });
                            assert!(worse.serves(&problem) && !worse.is(&problem));
                            let expected = format!("{:?}", planned(&problem, facts, flips));
                            for turn in 0..3 {
                                let mut plan = best(&problem, facts, flips);
                                assert_eq!(format!("{plan:?}"), expected, "turn {turn}");
                                plan.launches_mut()[0].evict_last = false;
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn threads_that_plan_the_same_moves_get_the_same_plans() {
        let shapes: Vec<[usize; 3]> = (0..40).map(|more| [200 + more, 70, 41]).collect();
        let facts = Facts::simulated();
        let plans = || {
            let plan = |shape: &[usize; 3]| {
                let layouts = layouts(shape, &[2, 1, 0], 4, [0, 0]);
                format!("{:?}", best(&problem(4, &layouts), &facts, None))
            };
            (0..20).flat_map(|_| shapes.iter().map(plan)).collect::<Vec<String>>()
        };
        let all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(plans)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(all.iter().all(|plans| *plans == all[0]));
    }

    /// As an H200 was fastest (decisions 071, 102 and 103): by the kernel of few rows, in tiles, by the kernel of rows that start anywhere.
    #[test]
    fn rows_of_bytes_that_start_anywhere_go_by_how_many_they_are() {
        let facts = Facts::h200();
        for (rows, cols, slack, kernel) in [
            (103, 734_029, [15, 0], "lines_b1"),
            (389, 282_777, [0, 0], "tiles_b1"),
            (733, 150_069, [0, 0], "rows_b1"),
            (5249, 23_691, [0, 0], "rows_b1"),
        ] {
            let layouts = layouts(&[rows, cols], &[1, 0], 1, slack);
            let plan = best(&problem(1, &layouts), &facts, None);
            assert_eq!(plan.kernel_names(), [kernel], "{plan}");
        }
    }

    #[test]
    fn no_way_is_half_as_fast_as_another() {
        let facts = Facts::h200();
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
                            let layouts = layouts(&shape, order, element, slack);
                            let problem = problem(element, &layouts);
                            let canonical = Canonical::of(&problem);
                            let Ok(ways) = Ways::of(&canonical, &facts, None) else { continue };
                            let alone = ways.best().launches;
                            let plans = candidates(&problem, &facts, None);
                            assert!(plans[0].0.way == Way::Launches(alone), "{}", plans[0]);
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

//! Planning moves of arrays of any rank: pure arithmetic.
//!
//! A move is brought to [canonical form](canonical). One stretch of memory is copied by the driver; anything else goes the way of these
//! that the [model](model) expects to be fastest:
//!
//! | what it then is | how it may go |
//! |---|---|
//! | the transpose of a matrix, or of a batch of them | as [`MatrixPlan`](super::MatrixPlan) has it |
//! | the fastest axis changes | `tiles`, through a transposed tile |
//! | words lie together on either side | `boxes`, gathered from shared memory |
//! | anything | `words`, a word a thread at a time |
//!
//! Moves that [compute](arithmetic) have kernels and planners of their own.
//! Where elements are [conjugated](conjugating) on the way, it is `tiles` and `words` only, of which there are ones that flip bits.

mod afar;
mod arithmetic;
mod boxes;
mod canonical;
mod conjugating;
mod cuts;
mod gaps;
mod model;
mod sectors;
mod side;
mod tiles;
mod words;

use super::measure::{PlanCache, measured};
use super::problem::{Batch, MOST_BYTES, Problem, alignment};
pub use arithmetic::ArithmeticPlan;

use crate::device::{Step, across, require_one_memory};
use crate::kernels;
use crate::launch::{Fields, Launch};
use crate::layout::Layout;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Facts, Result};
use bytemuck::Pod;
use canonical::{Axis, Canonical, TensorProblem};
pub(crate) use conjugating::conjugate_in_place;
use gaps::Gaps;
use kernel_abi::tensor::Mask;
use kernel_abi::{Kernel, Params};
use std::fmt;
use tiles::Overlap;

/// The move of one tensor to another, checked, that only waits to be run: a [`Plan`](super::Plan), whose methods `moving` and so on say what these
/// do.
#[derive(Clone, Debug)]
pub(crate) struct TensorPlan {
    /// Hundreds of bytes, which are not to be moved with the plan.
    problem: Box<TensorProblem>,
    /// Bytes from each side's element `[0, …, 0]` to the address that launches are given.
    starts: [isize; 2],
    way: Way,
    /// Whether elements are conjugated on the way.
    conjugates: bool,
    /// The fraction of a copy's speed that the model expects.
    expected: f64,
}

/// A way to go, and what the model says that it costs: bytes that a copy could have moved meanwhile.
#[derive(Clone)]
struct Estimated {
    cost: f64,
    launches: Vec<Launch>,
}

impl Estimated {
    fn of((cost, launch): (f64, Launch)) -> Self {
        Estimated { cost, launches: vec![launch] }
    }
}

/// How a move goes.
#[derive(Clone, Debug, PartialEq)]
enum Way {
    /// As one stretch of so many bytes.
    Copy(usize),
    /// By kernels.
    Launches(Vec<Launch>),
}

impl TensorPlan {
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
    fn fastest<T: Pod>(
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
    fn starts_in(&self, addresses: [u64; 2]) -> [u64; 2] {
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

/// The problem of a source and a destination of the same shape.
fn problem<T: Pod>(src: &TensorView<'_, T>, dst: &TensorViewMut<'_, T>) -> Result<TensorProblem> {
    require_same_shape(src.layout(), dst.layout())?;
    Ok(TensorProblem {
        element_bytes: size_of::<T>(),
        src: *src.layout(),
        dst: *dst.layout(),
        src_align: alignment(src.address()),
        dst_align: alignment(dst.address()),
    })
}

/// The problem of layouts in memory that a device allocates, of elements of so many bytes.
fn problem_of_layouts(
    element_bytes: usize,
    src: &TensorLayout,
    dst: &TensorLayout,
) -> Result<TensorProblem> {
    src.require_bytes(element_bytes)?;
    dst.require_bytes(element_bytes)?;
    require_same_shape(src, dst)?;
    dst.require_injective()?;
    // More would be more launches than a list of them can hold.
    if src.len() > MOST_BYTES / element_bytes.max(1) {
        return Err(Error::TensorSizeOverflow { shape: src.shape().to_vec(), element_bytes });
    }
    // Of what is empty the offset may be any.
    let align =
        |layout: &TensorLayout| alignment(layout.offset().wrapping_mul(element_bytes) as u64);
    let (src_align, dst_align) = (align(src), align(dst));
    Ok(TensorProblem { element_bytes, src: *src, dst: *dst, src_align, dst_align })
}

/// How many shapes of tile are candidates.
const SHAPES: usize = 6;

/// Whether one can be copied to the other.
fn require_same_shape(src: &TensorLayout, dst: &TensorLayout) -> Result<()> {
    if src.shape() == dst.shape() {
        return Ok(());
    }
    Err(Error::TensorShapeMismatch { src: src.shape().to_vec(), dst: dst.shape().to_vec() })
}

/// A move, and how it may go.
struct Ways<'a> {
    problem: &'a TensorProblem,
    facts: &'a Facts,
    canonical: Canonical,
    /// The bits that are flipped on the way, if any are.
    flips: Option<Mask>,
}

impl<'a> Ways<'a> {
    /// Those of a problem; the plan itself where nothing is left to choose.
    fn of(
        problem: &'a TensorProblem,
        facts: &'a Facts,
        flips: Option<Mask>,
    ) -> Result<Self, TensorPlan> {
        let plan = |starts, way| {
            let (problem, conjugates) = (Box::new(*problem), flips.is_some());
            TensorPlan { problem, starts, way, conjugates, expected: 1.0 }
        };
        if problem.src.is_empty() || problem.element_bytes == 0 {
            return Err(plan([0, 0], Way::Launches(Vec::new())));
        }
        let canonical = Canonical::of(problem);
        if canonical.words() == canonical.run() && flips.is_none() {
            let bytes = canonical.words() * canonical.word_bytes();
            return Err(plan(canonical.starts, Way::Copy(bytes)));
        }
        Ok(Ways { problem, facts, canonical, flips })
    }

    /// The plan that goes such a way.
    fn plan(&self, Estimated { cost, launches }: Estimated) -> TensorPlan {
        let (problem, starts) = (Box::new(*self.problem), self.canonical.starts);
        let expected = model::expected(&self.canonical, cost, launches.len());
        let (way, conjugates) = (Way::Launches(launches), self.flips.is_some());
        TensorPlan { problem, starts, way, conjugates, expected }
    }

    /// As a matrix's, if it is one and arrives as it is.
    fn as_matrix(&self) -> Option<Estimated> {
        if self.flips.is_some() {
            return None;
        }
        let launches = matrix(&self.canonical, self.facts)?;
        let cost = model::cost_of_matrix(&self.canonical, self.facts, &launches);
        Some(Estimated { cost, launches })
    }

    /// Word by word.
    fn by_words(&self) -> Estimated {
        let cost = words::cost(&self.canonical, self.facts);
        Estimated { cost, launches: words::launches(&self.canonical, self.flips) }
    }

    /// In tiles, the `most` best that cost less than a `limit`.
    fn in_tiles(&self, most: usize, limit: f64) -> impl Iterator<Item = Estimated> {
        let overlap = Overlap::Wanted;
        let tiles = tiles::best(&self.canonical, self.facts, self.flips, overlap, most, limit);
        tiles.into_iter().map(Estimated::of)
    }

    /// In boxes, the `most` best that cost less than a `limit`, if words arrive as they are.
    fn in_boxes(&self, most: usize, limit: f64) -> impl Iterator<Item = Estimated> {
        let serve = self.flips.is_none();
        let boxes = serve.then(|| boxes::best(&self.canonical, self.facts, most, limit));
        boxes.into_iter().flatten().map(Estimated::of)
    }

    /// The best way. What takes longer to plan is not looked at where nothing is left to gain.
    fn best(&self) -> Estimated {
        let in_tiles = |limit| self.in_tiles(1, limit).next();
        let in_boxes = |limit| self.in_boxes(1, limit).next();
        self.choose([&in_tiles, &in_boxes])
    }

    /// The best way, with others that cost less than a limit, if there are such.
    fn choose(&self, others: [&dyn Fn(f64) -> Option<Estimated>; 2]) -> Estimated {
        /// A way that costs so many times what its sectors cost is good enough.
        const ENOUGH: f64 = 1.08;
        // Planning is to take no time beside a launch's latency: what is planned at once will do.
        if model::is_small(&self.canonical) {
            return self.as_matrix().unwrap_or_else(|| self.by_words());
        }
        let enough = model::fewest_sectors(&self.canonical) * ENOUGH;
        let by_words = words::cost(&self.canonical, self.facts);
        let mut best = self.as_matrix().filter(|way| way.cost < by_words);
        let cost = |best: &Option<Estimated>| best.as_ref().map_or(by_words, |best| best.cost);
        for (number, other) in others.into_iter().enumerate() {
            let limit = cost(&best);
            // Word by word a move is never as fast as tiles of vectors can be.
            let are_for_vectors = number == 0 && best.is_none();
            if limit <= enough && !are_for_vectors {
                break;
            }
            best = other(limit).filter(|way| way.cost < limit).or(best);
        }
        best.unwrap_or_else(|| self.by_words())
    }

    /// The few best of every kind, the one that a plan takes first: it may have been content with less than the best.
    fn candidates(self) -> Vec<TensorPlan> {
        let tiles: Vec<Estimated> = self.in_tiles(SHAPES, f64::INFINITY).collect();
        let boxes: Vec<Estimated> = self.in_boxes(SHAPES, f64::INFINITY).collect();
        let taken = self.choose([&|_| tiles.first().cloned(), &|_| boxes.first().cloned()]);
        let mut all: Vec<Estimated> = [tiles, boxes].concat();
        all.extend(self.as_matrix());
        all.push(self.by_words());
        all.retain(|way| way.launches != taken.launches);
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        std::iter::once(taken).chain(all).map(|way| self.plan(way)).collect()
    }
}

/// The best plan for a problem.
fn best(problem: &TensorProblem, facts: &Facts, flips: Option<Mask>) -> TensorPlan {
    match Ways::of(problem, facts, flips) {
        Ok(ref ways) => ways.plan(ways.best()),
        Err(plan) => plan,
    }
}

/// The plans for a problem, the best first.
fn candidates(problem: &TensorProblem, facts: &Facts, flips: Option<Mask>) -> Vec<TensorPlan> {
    Ways::of(problem, facts, flips).map_or_else(|plan| vec![plan], Ways::candidates)
}

/// Launches of the kernels that serve any move, for matrices that are for no kernel of theirs.
pub(super) fn transposing(problem: &Problem, facts: &Facts) -> Option<Vec<Launch>> {
    let problem = move_of(problem)?;
    let ways = Ways::of(&problem, facts, None);
    // What is one stretch of memory is moved by launches, too: a plan of matrices has nothing else.
    Some(ways.map_or_else(
        |_| words::launches(&Canonical::of(&problem), None),
        |ways| ways.best().launches,
    ))
}

/// Launches of the kernels that serve any move, if the model expects them to transpose matrices in clearly less time than these launches do. It is asked about
/// batches, about few rows or columns between gaps, and where tiles are partly empty or a kernel is slow for such elements.
pub(super) fn better(problem: &Problem, launches: &[Launch], facts: &Facts) -> Option<Vec<Launch>> {
    /// Of fewer bytes gaps take less time than planning.
    const LARGE: usize = 4 << 20;
    /// Of what such a move costs, what another way must cost at most, for a model errs.
    const LESS: f64 = 0.95;
    /// Threads that have less than so much of what they could move are too many, in small moves and in large ones.
    const FULL: [f64; 2] = [0.5, 0.75];
    let bytes = problem.bytes();
    if bytes < model::SMALL {
        return None;
    }
    let is_large = bytes >= LARGE;
    let if_poor = model::if_poor(problem, launches, FULL[usize::from(is_large)]);
    let has_gaps = problem.dst.ld > problem.dst.cols;
    let is_batch = problem.batch.count > 1;
    if if_poor.is_none() && !(is_large && (has_gaps || is_batch)) {
        return None;
    }
    let problem = move_of(problem)?;
    let ways = Ways::of(&problem, facts, None).ok()?;
    if if_poor.is_none() && !is_batch && !Gaps::of(&ways.canonical).fetch {
        return None;
    }
    let cost = model::cost_of_matrix(&ways.canonical, facts, launches);
    // Planning takes longer than a launch's latency.
    if !is_large && cost - model::fewest_sectors(&ways.canonical) < model::LATENCY {
        return None;
    }
    let limit = cost * if is_large { LESS } else { if_poor.unwrap_or(LESS) };
    let general =
        [ways.in_tiles(1, limit).next(), ways.in_boxes(1, limit).next(), Some(ways.by_words())];
    let best = general.into_iter().flatten().min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    (best.cost < limit).then_some(best.launches)
}

/// The move that the transpose of these matrices is.
fn move_of(problem: &Problem) -> Option<TensorProblem> {
    let Problem { element_bytes, src, dst, src_align, dst_align, batch } = *problem;
    let shape = [batch.count, src.cols, src.rows];
    let layout = |strides: [usize; 3]| {
        let [matrices, down, along] = strides.map(|elements| isize::try_from(elements).ok());
        TensorLayout::strided(&shape, &[matrices?, down?, along?], 0, element_bytes).ok()
    };
    let src = layout([batch.src_stride, 1, src.ld])?;
    let dst = layout([batch.dst_stride, dst.ld, 1])?;
    Some(TensorProblem { element_bytes, src, dst, src_align, dst_align })
}

/// The launches of a kernel that only knows matrices, if the move is the transpose of matrices and one is for them.
fn matrix(canonical: &Canonical, facts: &Facts) -> Option<Vec<Launch>> {
    let tuple = canonical.run();
    let axes = if tuple > 1 { &canonical.axes()[1..] } else { canonical.axes() };
    let (rows, cols, apart) = match *axes {
        [rows, cols] => (rows, cols, Axis { length: 1, src: 0, dst: 0 }),
        [rows, cols, apart] => (rows, cols, apart),
        _ => return None,
    };
    let elements = |words: isize| {
        usize::try_from(words).ok().filter(|words| words % tuple == 0).map(|words| words / tuple)
    };
    if elements(rows.dst) != Some(1) || elements(cols.src) != Some(1) {
        return None;
    }
    let bytes = tuple * canonical.word_bytes();
    let src = Layout::new(rows.length, cols.length, elements(rows.src)?, bytes).ok()?;
    let dst = Layout::new(cols.length, rows.length, elements(cols.dst)?, bytes).ok()?;
    let batch = Batch {
        count: apart.length,
        src_stride: elements(apart.src)?,
        dst_stride: elements(apart.dst)?,
    };
    let [from, to] = canonical.aligned;
    let problem =
        Problem::of_layouts(bytes, src.aligned_to(from), dst.aligned_to(to), batch).ok()?;
    super::by_matrices(&problem, facts)
}

/// The parameters of a launch, if it is one of this kernel.
fn params_of<P: Params>(kernel: &Kernel<P>, launch: &Launch) -> Option<P> {
    let is_of_it = kernel.entries.iter().any(|entry| entry.name == launch.entry.name);
    is_of_it.then(|| launch.params.to())?
}

/// What a launch asks of a multiprocessor.
struct Block {
    threads: u32,
    /// Bytes of dynamic shared memory.
    shared: usize,
}

/// A launch of a kernel that moves arrays of any rank, so many words further on either side.
fn launch<P: Params>(
    kernel: &Kernel<P>,
    canonical: &Canonical,
    blocks: usize,
    block: Block,
    offsets: [isize; 2],
    params: &P,
) -> Launch {
    Launch {
        entry: kernels::entry(kernel, canonical.word)
            .expect("the kernels exist for every word that they are asked to move"),
        grid: [blocks as u32, 1, 1],
        block: [block.threads, 1, 1],
        dynamic_shared_bytes: block.shared as u32,
        blocks_per_multiprocessor: 0,
        evict_last: true,
        cooperative: false,
        offsets: offsets.map(|words| (words * canonical.word_bytes() as isize) as u64),
        params: Fields::of(params),
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
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
                            let plans = ways.candidates();
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

//! Planning an in-place transposition: which algorithm, with which sizes, at what cost.

use super::launches::Squares;
use super::layouts::Conversion;
use super::options::{InPlace, InPlaceOptions};
use super::recipe::{Recipe, interrupted};
use super::shape::{Shape, scratch_limit};
use super::stages::{self, Stages};
use super::studies;
use super::{decomposed, launches, panels};
use crate::device::{Buffer, Device};
use crate::facts::Facts;
use crate::layout::Layout;
use crate::{DeviceMatrix, Error, Result};
use bytemuck::Pod;
use std::time::Duration;

/// An in-place transposition that has been checked, with its scratch memory.
///
/// It can be run on any matrix of the shape, layout and device that it was made for.
///
/// ```
/// use transpose::{Device, DeviceMatrix, InPlace, InPlacePlan};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let mut matrix = DeviceMatrix::from_host(&device, 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
/// let mut plan = InPlacePlan::new(&matrix, InPlace::Auto)?;
/// plan.run(&mut matrix)?;
/// assert_eq!(matrix.shape(), (3, 2));
/// assert_eq!(matrix.to_host()?, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct InPlacePlan {
    device: Device,
    shape: Shape,
    /// What the memory is afterwards.
    result: Layout,
    algorithm: InPlace,
    recipe: Recipe,
    scratch: Option<Buffer>,
}

impl InPlacePlan {
    /// Plans the transposition of matrices like `matrix`. Allocates the scratch memory, and
    /// launches nothing.
    ///
    /// # Errors
    /// [`Error::GapsInPlace`] for rows with gaps, unless the matrix is square and goes by [`Square`](InPlace::Square),
    /// [`Error::NotServed`] if the algorithm does not serve the shape or the element,
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn new<T: Pod>(matrix: &DeviceMatrix<T>, algorithm: InPlace) -> Result<Self> {
        Self::with_options(matrix, algorithm, &InPlaceOptions::default())
    }

    /// Like [`new`](Self::new), with sizes that the caller chooses.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::NotServed`] for sizes that the algorithm cannot use.
    pub fn with_options<T: Pod>(
        matrix: &DeviceMatrix<T>,
        algorithm: InPlace,
        options: &InPlaceOptions,
    ) -> Result<Self> {
        Self::of_shape(matrix.device(), Shape::of(matrix), algorithm, options)
    }

    fn of_shape(
        device: &Device,
        shape: Shape,
        algorithm: InPlace,
        options: &InPlaceOptions,
    ) -> Result<Self> {
        let (algorithm, recipe) = choose_fitting(&shape, algorithm, device, options)?;
        let Shape { rows, cols, ld, .. } = shape;
        // Only a square matrix keeps its gaps.
        let ld = if rows == cols { ld } else { rows };
        let result = Layout { rows: cols, cols: rows, ld };
        Self::of_recipe(device, shape, result, algorithm, recipe)
    }

    /// Plans a conversion between layouts of an array of structures.
    pub(super) fn converting<T: Pod>(
        matrix: &DeviceMatrix<T>,
        conversion: Conversion,
        options: &InPlaceOptions,
    ) -> Result<Self> {
        let (device, shape) = (matrix.device(), Shape::of(matrix));
        contiguous(&shape)?;
        let (result, recipe) = conversion.recipe(&shape, device.facts(), options)?;
        Self::of_recipe(device, shape, result, InPlace::Auto, recipe)
    }

    fn of_recipe(
        device: &Device,
        shape: Shape,
        result: Layout,
        algorithm: InPlace,
        recipe: Recipe,
    ) -> Result<Self> {
        let scratch = (recipe.scratch > 0).then(|| device.allocate(recipe.scratch)).transpose()?;
        Ok(InPlacePlan { device: device.clone(), shape, result, algorithm, recipe, scratch })
    }

    /// Tries out every tile size that the algorithm can use, at most `trials` of them, the most
    /// promising first, and returns the plan that was fastest. On the simulator, whose time means
    /// nothing, that is the first.
    ///
    /// The matrix is transposed and transposed back. Its contents are as before unless a step of that fails on the device
    /// ([`Error::Interrupted`]).
    ///
    /// # Errors
    /// As [`new`](Self::new), and what the device reports.
    pub fn measure<T: Pod>(
        matrix: &mut DeviceMatrix<T>,
        algorithm: InPlace,
        trials: usize,
    ) -> Result<Self> {
        let (device, shape) = (matrix.device().clone(), Shape::of(matrix));
        let mut best: Option<(Duration, InPlaceOptions)> = None;
        for tile in candidates(&shape, algorithm, device.facts()).into_iter().take(trials) {
            let options = InPlaceOptions { tile: Some(tile), ..InPlaceOptions::default() };
            let Ok(mut plan) = Self::with_options(matrix, algorithm, &options) else { continue };
            // Before anything is moved: nothing is if there is no way back.
            let mut back = plan.back()?;
            let elapsed = plan.time_there_and_back(&mut back, matrix)?;
            let Some(elapsed) = elapsed else { return Ok(plan) };
            if best.is_none_or(|(time, _)| elapsed < time) {
                best = Some((elapsed, options));
            }
        }
        let options = best.map_or_else(InPlaceOptions::default, |(_, options)| options);
        Self::with_options(matrix, algorithm, &options)
    }

    /// The device's time for the second of two runs, behind each of which comes the way back. The first loads the kernels.
    fn time_there_and_back<T: Pod>(
        &mut self,
        back: &mut Self,
        matrix: &mut DeviceMatrix<T>,
    ) -> Result<Option<Duration>> {
        let (device, layout) = (self.device.clone(), matrix.layout());
        let (mut elapsed, mut moved) = (None, false);
        for _ in 0..2 {
            let timed = device.time(|| {
                self.run(matrix)?;
                moved = true;
                Ok(())
            });
            let there_and_back = timed.and_then(|time| {
                elapsed = time;
                back.run(matrix)
            });
            if let Err(error) = there_and_back {
                // Between the two the shape is another one.
                matrix.set_layout(layout);
                return Err(if moved { interrupted(error) } else { error });
            }
        }
        Ok(elapsed)
    }

    /// The plan that transposes what this one has transposed.
    fn back(&self) -> Result<Self> {
        let Layout { rows, cols, ld } = self.result;
        let shape = Shape { rows, cols, ld, ..self.shape };
        Self::of_shape(&self.device, shape, InPlace::Auto, &InPlaceOptions::default())
    }

    /// Transposes the matrix: its rows become its columns, in the same memory.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] and [`Error::DeviceMismatch`] for a matrix that the plan was not
    /// made for. [`Error::Interrupted`] if a step failed after the first, or the first once its kernel had begun: the contents are
    /// unspecified then, the shape is as before, and nothing else was touched.
    /// What the device reports of a first step that it does not begin: no element has moved then.
    pub fn run<T: Pod>(&mut self, matrix: &mut DeviceMatrix<T>) -> Result<()> {
        self.check(matrix)?;
        self.recipe.run(&self.device, matrix.buffer(), self.scratch.as_ref())?;
        matrix.set_layout(self.result);
        Ok(())
    }

    /// Like [`run`](Self::run), and returns the name of each step and the device's time for it:
    /// `None` on the simulator, whose time means nothing.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_step_by_step<T: Pod>(
        &mut self,
        matrix: &mut DeviceMatrix<T>,
    ) -> Result<Vec<(&'static str, Option<Duration>)>> {
        self.check(matrix)?;
        let times = self.recipe.time(&self.device, matrix.buffer(), self.scratch.as_ref())?;
        matrix.set_layout(self.result);
        Ok(times)
    }

    fn check<T: Pod>(&self, matrix: &DeviceMatrix<T>) -> Result<()> {
        let actual = Shape::of(matrix);
        if actual != self.shape {
            let (planned, actual) = (self.shape.to_string(), actual.to_string());
            return Err(Error::PlanMismatch { planned, actual });
        }
        if !self.device.is_same(matrix.device()) {
            let (src, dst) = (self.device.to_string(), matrix.device().to_string());
            return Err(Error::DeviceMismatch { src, dst });
        }
        Ok(())
    }

    /// The algorithm, which is never [`InPlace::Auto`] for a transposition.
    pub fn algorithm(&self) -> InPlace {
        self.algorithm
    }

    /// How many times the whole matrix is read and written, by way of the scratch memory or not. At
    /// the speed of a copy that costs as much as this many copies.
    pub fn passes(&self) -> usize {
        self.recipe.passes
    }

    /// The device memory that the plan holds besides the matrix, in bytes: at most a thousandth of
    /// the matrix and 1 MiB, or five thousandths and 1 MiB where [`InPlace::Decomposed`] shuffles rows
    /// that are too long for the chip. Where nothing else serves the shape, a bit for each element comes to the thousandth.
    pub fn extra_bytes(&self) -> usize {
        self.recipe.scratch
    }

    /// The tile that the algorithm works with, rows and columns in elements.
    pub fn tile(&self) -> Option<(usize, usize)> {
        self.recipe.tile
    }
}

/// Refuses gaps between rows.
fn contiguous(shape: &Shape) -> Result<()> {
    let Shape { rows, cols, ld, .. } = *shape;
    if ld == cols || rows <= 1 { Ok(()) } else { Err(Error::GapsInPlace { rows, cols, ld }) }
}

/// The choice whose blocks that wait for each other the device runs side by side.
fn choose_fitting(
    shape: &Shape,
    algorithm: InPlace,
    device: &Device,
    options: &InPlaceOptions,
) -> Result<(InPlace, Recipe)> {
    let mut options = *options;
    loop {
        let (chosen, mut recipe) = choose(shape, algorithm, device.facts(), &options)?;
        let Some(most) = recipe.fit(device)? else { return Ok((chosen, recipe)) };
        // The kernels were compiled to need more registers than was reckoned with, or others have a part of the device.
        let group = options.max_group.map_or(most, |group| group.min(most));
        if group == 0 || options.max_group == Some(group) {
            return Err(Error::NotServed {
                algorithm: chosen.name(),
                rows: shape.rows,
                cols: shape.cols,
                element_bytes: shape.element_bytes(),
                reason: "the device cannot run as many blocks side by side as hold a part",
            });
        }
        options.max_group = Some(group);
    }
}

/// The algorithm that is run, and its steps.
fn choose(
    shape: &Shape,
    algorithm: InPlace,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Result<(InPlace, Recipe)> {
    let Shape { rows, cols, .. } = *shape;
    let refuse = |reason| Error::NotServed {
        algorithm: algorithm.name(),
        rows,
        cols,
        element_bytes: shape.element_bytes(),
        reason,
    };
    if rows != cols || algorithm != InPlace::Square && algorithm != InPlace::Auto {
        contiguous(shape)?;
    }
    if let Some(reason) = studies::refusal(algorithm, options) {
        return Err(refuse(reason));
    }
    if shape.stays() {
        let algorithm = if algorithm == InPlace::Auto { InPlace::Square } else { algorithm };
        return Ok((algorithm, Recipe::default()));
    }
    let recipe = |of| recipe(of, shape, facts, options, &refuse);
    // All others take rows to follow each other without gaps.
    let only_square =
        || contiguous(shape).is_err() || launches::square(shape, Squares::ONE, facts).is_some();
    match algorithm {
        InPlace::Auto if rows == cols && only_square() => {
            choose(shape, InPlace::Square, facts, options)
        }
        InPlace::Auto => {
            let by = |of| recipe(of).map(|recipe| (of, recipe));
            match by(InPlace::TwoStage) {
                Ok((of, recipe)) if recipe.scratch <= scratch_limit(shape) => Ok((of, recipe)),
                last_resort => by(InPlace::Decomposed).or(last_resort),
            }
        }
        _ => Ok((algorithm, recipe(algorithm)?)),
    }
}

/// The recipe of an algorithm that is not [`InPlace::Auto`].
fn recipe(
    algorithm: InPlace,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
    refuse: &dyn Fn(&'static str) -> Error,
) -> Result<Recipe> {
    let Shape { rows, cols, width, tuple, .. } = *shape;
    let one_word = || match tuple {
        1 => Ok(()),
        _ => Err(refuse("its kernels move elements of 1, 2, 4, 8 and 16 bytes")),
    };
    let staged = |stages| {
        if rows * cols >= 1 << 31 {
            return Err(refuse("its super-elements may be too many to count in 31 bits"));
        }
        let tile = stages::tile(stages, shape, facts, options)
            .ok_or_else(|| refuse("no tile divides it and fits on chip"))?;
        let recipe = stages::recipe(stages, tile, shape, facts, options).map_err(refuse)?;
        if recipe.scratch > scratch_limit(shape) {
            return Err(refuse("its tiles are so small that their flags need too much memory"));
        }
        Ok(recipe)
    };
    let mut single = Recipe::default();
    match algorithm {
        InPlace::Square if rows != cols => return Err(refuse("it is not square")),
        InPlace::Square => {
            let launch = launches::square(shape, Squares::ONE, facts)
                .ok_or_else(|| refuse("two elements do not fit on chip"))?;
            single.pass(launch, 0);
        }
        InPlace::Auto | InPlace::TwoStage => {
            let (panels, _) = panels::choose(shape, facts, options)
                .ok_or_else(|| refuse("no panel fits on chip and within the scratch memory"))?;
            return panels::recipe(&panels, shape, facts, options);
        }
        InPlace::ThreeStage => return staged(Stages::Three),
        InPlace::FourStage => return staged(Stages::Four),
        InPlace::FourStageFused => return staged(Stages::FourFused),
        InPlace::Decomposed => {
            one_word()?;
            return decomposed::recipe(shape, facts, options)
                .ok_or_else(|| refuse("a strip of columns is longer than fits on chip"));
        }
        InPlace::CycleFollowing => {
            one_word()?;
            single.pass(launches::cycles(rows, cols, width, facts), 0);
        }
    }
    Ok(single)
}

/// The tiles that are worth a try, best first.
fn candidates(shape: &Shape, algorithm: InPlace, facts: &Facts) -> Vec<(usize, usize)> {
    let options = InPlaceOptions::default();
    if shape.stays() {
        return Vec::new();
    }
    let staged = |stages| stages::candidates(stages, shape, facts, &options);
    match algorithm {
        InPlace::ThreeStage => staged(Stages::Three),
        InPlace::FourStage => staged(Stages::Four),
        InPlace::FourStageFused => staged(Stages::FourFused),
        InPlace::TwoStage => {
            // Panels of half, the same and twice the length that the estimate prefers.
            let chosen = panels::choose(shape, facts, &options).map(|(panels, _)| panels);
            let around = |length: usize| [length, length / 2, length * 2, length / 4];
            chosen.into_iter().flat_map(|p| around(p.length).map(|m| (m.max(1), p.width))).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::{InPlace, InPlaceOptions, InPlacePlan, choose};
    use crate::in_place::launches::PITCHES;
    use crate::in_place::recipe::Step;
    use crate::in_place::shape::{Shape, scratch_limit};
    use crate::kernels::{self, Width, width_dividing};
    use crate::launch::Launch;
    use crate::simulator::{Launched, Observer};
    use crate::{Device, DeviceMatrix, Error, Facts, Result};
    use kernel_abi::in_place::SQUARE_WIDE;
    use std::cell::Cell;
    use std::rc::Rc;

    /// `rows × cols` elements of `bytes` bytes, without gaps.
    fn shape(rows: usize, cols: usize, bytes: usize) -> Shape {
        let width = width_dividing([bytes]);
        Shape { rows, cols, ld: cols, width, tuple: bytes / width.bytes() }
    }

    fn plan(device: &Device, shape: Shape, options: &InPlaceOptions) -> Result<InPlacePlan> {
        InPlacePlan::of_shape(device, shape, InPlace::Auto, options)
    }

    /// A simulated device whose blocks run side by side.
    fn side_by_side() -> Device {
        Device::simulated_with_weak_memory(simt::Checks::NONE, 1)
    }

    /// The launches of a plan.
    fn launches(plan: &InPlacePlan) -> impl Iterator<Item = &Launch> {
        plan.recipe.steps.iter().filter_map(|step| match step {
            Step::Launch(launch) | Step::Together(launch, _) => Some(launch),
            _ => None,
        })
    }

    /// Plans of several steps for a small matrix, by every algorithm that has some.
    fn plans(matrix: &DeviceMatrix<u32>) -> Vec<InPlacePlan> {
        let small = |bytes| InPlaceOptions { on_chip_bytes: Some(bytes), ..Default::default() };
        let chips = [InPlaceOptions::default(), small(1 << 10), small(128)];
        let plans = InPlace::ALL.iter().flat_map(|&algorithm| {
            chips.map(|options| InPlacePlan::with_options(matrix, algorithm, &options))
        });
        plans.flatten().collect()
    }

    /// Where a panel takes all of the chip, its blocks leave room for each other.
    #[test]
    fn blocks_of_one_panel_run_side_by_side() {
        for (rows, cols, bytes) in
            [(9000, 9090, 3), (9000, 13500, 1), (12000, 12120, 6), (10000, 20100, 5)]
        {
            let shape = shape(rows, cols, bytes);
            let plan = plan(&side_by_side(), shape, &InPlaceOptions::default()).unwrap();
            assert_eq!((plan.algorithm(), plan.passes()), (InPlace::TwoStage, 2), "{shape}");
        }
    }

    /// If a device runs fewer blocks at a time than its facts promise, groups are that small, and no larger than the caller says.
    #[test]
    fn groups_are_no_larger_than_what_runs_at_a_time() {
        let device = side_by_side();
        let facts = Facts { multiprocessors: 132, ..device.facts().clone() };
        let device = device.with_facts(facts).unwrap();
        for most in [None, Some(3), Some(16), Some(64)] {
            let options = InPlaceOptions::default().max_group(most);
            for algorithm in [InPlace::Auto, InPlace::TwoStage, InPlace::Decomposed] {
                let shape = shape(20_000, 1000, 4);
                let plan = InPlacePlan::of_shape(&device, shape, algorithm, &options).unwrap();
                for step in &plan.recipe.steps {
                    let Step::Together(launch, parts) = step else { continue };
                    assert!(*parts <= launch.grid[0] as usize, "{algorithm} {most:?}");
                    assert!(*parts <= most.unwrap_or(usize::MAX), "{algorithm} {most:?}");
                }
            }
        }
    }

    /// No block asks for more shared memory than the device has, or the options allow.
    #[test]
    fn blocks_take_no_more_shared_memory_than_they_may() {
        let whole = Device::simulated();
        let facts = Facts { block_shared: 48 << 10, ..whole.facts().clone() };
        let small = whole.with_facts(facts).unwrap();
        for (device, most) in [
            (&whole, usize::MAX),
            (&small, usize::MAX),
            (&whole, 4096),
            (&whole, 1024),
            (&whole, 64),
        ] {
            let room = most.min(device.facts().block_shared);
            let options = InPlaceOptions::default().on_chip_bytes(most);
            for bytes in [1, 2, 3, 4, 7, 12, 16] {
                for (rows, cols) in [(6800, 32), (1440, 32), (32, 1440), (97, 96), (400, 30)] {
                    let plan = plan(device, shape(rows, cols, bytes), &options).unwrap();
                    // What fills no panel is put aside and back by kernels that the options do not reach.
                    let taken = launches(&plan)
                        .filter(|launch| {
                            launch.entry.name.starts_with("panel") || most == usize::MAX
                        })
                        .map(|launch| launch.dynamic_shared_bytes)
                        .max();
                    let taken = taken.unwrap_or(0) as usize;
                    assert!(taken <= room, "{rows} × {cols} of {bytes}: {taken} of {room}");
                }
            }
        }
    }

    /// On a chip that holds little, long sides are served with more flags, behind everything that needs fewer.
    #[test]
    fn long_sides_of_tuples_are_served() {
        let device = Device::simulated();
        let default = InPlaceOptions::default();
        let tuples = plan(&device, shape(8000, 9000, 3), &default).unwrap();
        let limit = scratch_limit(&tuples.shape);
        assert_eq!(tuples.algorithm(), InPlace::TwoStage);
        assert!((limit..limit + 8000 * 9000 / 8).contains(&tuples.extra_bytes()));
        let words = plan(&device, shape(8000, 9000, 4), &default).unwrap();
        assert_eq!(words.algorithm(), InPlace::Decomposed);
    }

    /// Few rows have panels of thousands of lengths to choose from, whose pitches are not all found.
    #[test]
    fn wide_matrices_are_planned_at_once() {
        let device = Device::simulated();
        for bytes in [3, 6, 7] {
            let before = PITCHES.get();
            plan(&device, shape(2, 1_000_003, bytes), &InPlaceOptions::default()).unwrap();
            let found = PITCHES.get() - before;
            assert!((1..100).contains(&found), "{found}");
        }
    }

    /// Of a matrix of 2⁵⁹ bytes 32 times as many are more than can be counted.
    #[test]
    fn the_largest_matrices_are_refused() {
        let facts = Facts { side_by_side: true, ..Facts::h200() };
        let shape = shape(1 << 40, 1 << 19, 1);
        let refused = choose(&shape, InPlace::TwoStage, &facts, &InPlaceOptions::default());
        assert!(matches!(refused, Err(Error::NotServed { .. })));
    }

    /// Stops each launch, or the one of a number, after some instructions.
    struct Stop {
        instructions: u64,
        only: Option<usize>,
        launches: Cell<usize>,
    }

    impl Observer for Stop {
        fn prepare(&self, options: &mut simt::Options) {
            self.launches.set(self.launches.get() + 1);
            if self.only.is_none_or(|only| only == self.launches.get()) {
                *options = std::mem::take(options).instruction_limit(self.instructions);
            }
        }

        fn launched(&self, _: Launched) {}
    }

    fn stop(instructions: u64, only: Option<usize>) -> Rc<Stop> {
        Rc::new(Stop { instructions, only, launches: Cell::new(0) })
    }

    /// A kernel that stops half way has moved something, though it is the first step.
    #[test]
    fn a_first_step_that_has_begun_is_an_interruption() {
        let device = Device::simulated();
        let host: Vec<u32> = (0..200 * 200).collect();
        let mut changed = 0;
        for instructions in [1, 1000, 3000, 10_000, 30_000, 100_000] {
            let mut matrix = DeviceMatrix::from_host(&device, 200, 200, &host).unwrap();
            let mut plan = InPlacePlan::new(&matrix, InPlace::Auto).unwrap();
            let ran = device.observe(stop(instructions, None), || plan.run(&mut matrix));
            let is_as_before = matrix.to_host().unwrap() == host;
            changed += usize::from(!is_as_before);
            assert!(ran.is_ok() || matches!(ran, Err(Error::Interrupted { .. })), "{ran:?}");
        }
        assert!(changed > 0);
    }

    /// An error after the first run of a measurement is an interruption, and leaves the matrix its shape.
    #[test]
    fn a_measurement_that_fails_says_what_is_left() {
        let device = Device::simulated();
        let host: Vec<u32> = (0..40 * 20).collect();
        for failing in 1.. {
            let mut matrix = DeviceMatrix::from_host(&device, 40, 20, &host).unwrap();
            let measure = || InPlacePlan::measure(&mut matrix, InPlace::ThreeStage, 1).map(|_| ());
            let measured = device.observe(stop(1, Some(failing)), measure);
            assert_eq!(matrix.shape(), (40, 20));
            if measured.is_ok() {
                assert!(failing > 3 && matrix.to_host().unwrap() == host);
                break;
            }
            assert!(matches!(measured, Err(Error::Interrupted { .. })), "{failing}: {measured:?}");
        }
    }

    /// A launch that every device refuses: it asks for more shared memory than there is.
    fn impossible() -> Step {
        Step::Launch(Launch {
            entry: kernels::entry_in_place(&SQUARE_WIDE, Width::B4).unwrap(),
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared_bytes: u32::MAX,
            blocks_per_multiprocessor: 0,
            cooperative: false,
            evict_last: false,
            offsets: [0; 2],
            params: [2, 2, 0].into(),
        })
    }

    /// Whichever step fails: the error says what the matrix is then, its shape is as before, and
    /// nothing else was touched.
    #[test]
    fn a_step_that_fails_is_reported() {
        let device = Device::simulated();
        let host: Vec<u32> = (0..40 * 37).collect();
        let canary = DeviceMatrix::from_host(&device, 40, 37, &host).unwrap();
        let mut matrix = DeviceMatrix::from_host(&device, 40, 37, &host).unwrap();
        let mut tried = 0;
        for mut plan in plans(&matrix) {
            for failing in 0..plan.recipe.steps.len() {
                let step = std::mem::replace(&mut plan.recipe.steps[failing], impossible());
                let together = plan.run(&mut matrix).unwrap_err();
                let one_by_one = plan.run_step_by_step(&mut matrix).unwrap_err();
                for error in [together, one_by_one] {
                    let interrupted = matches!(error, Error::Interrupted { .. });
                    assert_eq!(interrupted, failing > 0, "{error}");
                    assert_eq!(error.to_string().contains("unspecified"), interrupted, "{error}");
                    assert!(!interrupted || std::error::Error::source(&error).is_some());
                }
                assert_eq!((matrix.shape(), matrix.ld()), ((40, 37), 37));
                if failing == 0 {
                    assert!(matrix.to_host().unwrap() == host);
                }
                plan.recipe.steps[failing] = step;
                matrix = DeviceMatrix::from_host(&device, 40, 37, &host).unwrap();
                tried += 1;
            }
            // The plan is as good as before.
            plan.run(&mut matrix).unwrap();
            matrix.transpose_in_place().unwrap();
            assert!(matrix.to_host().unwrap() == host);
        }
        assert!(tried > 30, "{tried}");
        assert!(canary.to_host().unwrap() == host);
    }
}

//! What an in-place transposition does, step by step, and what it costs.

use crate::device::{Buffer, Device};
use crate::launch::Launch;
use crate::{Error, Result};
use std::time::Duration;

/// One step. Offsets are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Zeroes the start of the scratch memory.
    Zero { bytes: usize },
    /// Copies from the matrix to the scratch memory.
    Save { matrix: usize, scratch: usize, bytes: usize },
    /// Copies from the scratch memory to the matrix.
    Restore { scratch: usize, matrix: usize, bytes: usize },
    /// Launches a kernel that takes the matrix and the scratch memory.
    Launch(Launch),
    /// Launches a kernel whose blocks wait for each other: at least so many of them, and no more than run at a time.
    Together(Launch, usize),
    /// Launches a kernel that takes the scratch memory and the matrix.
    FromScratch(Launch),
}

impl Step {
    /// The kernel's name, or what else is done.
    fn name(&self) -> &'static str {
        match self {
            Step::Zero { .. } => "zero",
            Step::Save { .. } => "save",
            Step::Restore { .. } => "restore",
            Step::Launch(launch) | Step::Together(launch, _) | Step::FromScratch(launch) => {
                launch.entry.name
            }
        }
    }
}

/// Steps, and what they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recipe {
    pub steps: Vec<Step>,
    /// Bytes of scratch memory.
    pub scratch: usize,
    /// How many times the whole matrix is read and written.
    pub passes: usize,
    /// The tile that was chosen, in elements.
    pub tile: Option<(usize, usize)>,
}

impl Recipe {
    /// Adds a launch that reads and writes the whole matrix, and needs so many zero bytes.
    pub fn pass(&mut self, launch: Launch, zeroed: usize) {
        self.step_of_pass(Step::Launch(launch), zeroed);
    }

    /// Adds a launch that reads and writes the whole matrix and whose blocks take parts of wholes by tickets, if it is one: at least so many blocks.
    pub fn pass_together(&mut self, launch: Launch, parts: usize, zeroed: usize) {
        match launch.cooperative {
            true => self.step_of_pass(Step::Together(launch, parts), zeroed),
            false => self.pass(launch, zeroed),
        }
    }

    fn step_of_pass(&mut self, step: Step, zeroed: usize) {
        if zeroed > 0 {
            self.steps.push(Step::Zero { bytes: zeroed });
            self.scratch = self.scratch.max(zeroed);
        }
        self.steps.push(step);
        self.passes += 1;
    }

    /// Gives the launches whose blocks wait for each other as many as the device runs at a time. If those are not enough for one,
    /// returns how many they are. The simulator runs one after the other and knows no such number; then only lower parts are waited for.
    pub fn fit(&mut self, device: &Device) -> Result<Option<usize>> {
        let in_turn = device.facts().in_turn;
        for step in &mut self.steps {
            let Step::Together(launch, parts) = step else { continue };
            let most = if in_turn { Some(1) } else { device.side_by_side(launch)? };
            let Some(most) = most else { continue };
            if most < *parts {
                return Ok(Some(most));
            }
            launch.grid[0] = launch.grid[0].min(u32::try_from(most).unwrap_or(u32::MAX));
        }
        Ok(None)
    }

    /// Queues all steps.
    pub fn run(&self, device: &Device, matrix: &Buffer, scratch: Option<&Buffer>) -> Result<()> {
        self.each(|step| self.step(step, device, matrix, scratch)).map(|_| ())
    }

    /// Runs all steps and returns what the device spent on each.
    pub fn time(
        &self,
        device: &Device,
        matrix: &Buffer,
        scratch: Option<&Buffer>,
    ) -> Result<Vec<(&'static str, Option<Duration>)>> {
        self.each(|step| {
            let mut queued = false;
            let elapsed = device.time(|| {
                self.step(step, device, matrix, scratch)?;
                queued = true;
                Ok(())
            });
            let elapsed =
                elapsed.map_err(|error| if queued { interrupted(error) } else { error })?;
            Ok((step.name(), elapsed))
        })
    }

    /// Does the steps in their order. Once the first one has begun, the matrix may be neither what it was nor
    /// what it should become, and an error says so.
    fn each<T>(&self, mut run: impl FnMut(&Step) -> Result<T>) -> Result<Vec<T>> {
        let told = |index, error| match index {
            0 if !had_begun(&error) => error,
            _ => interrupted(error),
        };
        let steps = self.steps.iter().enumerate();
        steps.map(|(index, step)| run(step).map_err(|error| told(index, error))).collect()
    }

    fn step(
        &self,
        step: &Step,
        device: &Device,
        matrix: &Buffer,
        scratch: Option<&Buffer>,
    ) -> Result<()> {
        let address = scratch.map_or(0, Buffer::address);
        match (step, scratch) {
            (Step::Zero { bytes }, Some(scratch)) => device.fill_zero_in(scratch, 0, *bytes as u64),
            (Step::Save { matrix: from, scratch: to, bytes }, Some(scratch)) => {
                device.copy_in((scratch, *to as u64), (matrix, *from as u64), *bytes as u64)
            }
            (Step::Restore { scratch: from, matrix: to, bytes }, Some(scratch)) => {
                device.copy_in((matrix, *to as u64), (scratch, *from as u64), *bytes as u64)
            }
            // SAFETY: the recipe was made for the matrix's shape and for scratch memory of
            // `self.scratch` bytes; the matrix is borrowed exclusively by the plan's `run`.
            (Step::Launch(launch) | Step::Together(launch, _), _) => unsafe {
                device.launch(launch, [matrix.address(), address])
            },
            // SAFETY: the recipe was made for the matrix's shape and for as much scratch memory; the matrix is borrowed exclusively.
            (Step::FromScratch(launch), _) => unsafe {
                device.launch(launch, [address, matrix.address()])
            },
            (Step::Zero { .. } | Step::Save { .. } | Step::Restore { .. }, None) => {
                unreachable!("a recipe that uses scratch memory asks for some")
            }
        }
    }
}

/// The error of what left a matrix as neither what it was nor what it should become.
pub(super) fn interrupted(error: Error) -> Error {
    match error {
        Error::Interrupted { .. } => error,
        _ => Error::Interrupted { source: Box::new(error) },
    }
}

/// Whether a kernel that failed so may have moved something: others are refused before they begin.
fn had_begun(error: &Error) -> bool {
    match error {
        #[cfg(feature = "simulator")]
        Error::KernelDefects { .. } | Error::Simulator(simt::Error::Fault(_)) => true,
        error => error.is_sticky(),
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::{Recipe, Step};
    use crate::in_place::launches::Panels;
    use crate::kernels::Width;
    use crate::{Device, Facts};

    /// 40 panels of 20 tiles each.
    fn panels(tile_length: usize) -> Panels {
        let (length, width, panels) = (100, 64, 40);
        let (gap, to_rows, tile_width, threads, tuple) = (0, false, 16, 512, 1);
        Panels { length, width, panels, gap, to_rows, tile_length, tile_width, threads, tuple }
    }

    #[test]
    fn only_blocks_that_wait_are_launched_together() {
        let launch = panels(20).launch(Width::B4);
        assert!(launch.cooperative && panels(20).parts() == 20);
        let alone = Panels { tile_length: 100, tile_width: 64, ..panels(100) };
        assert!(!alone.launch(Width::B4).cooperative && alone.parts() == 1);
        let beside = Panels { gap: 3, ..alone };
        assert!(beside.launch(Width::B4).cooperative);
        let mut recipe = Recipe::default();
        recipe.pass_together(launch, 20, 0);
        recipe.pass_together(alone.launch(Width::B4), 1, 0);
        assert!(matches!(recipe.steps[..], [Step::Together(_, 20), Step::Launch(_)]));
    }

    /// A launch has no more blocks than run at a time, and those are enough or it is refused.
    #[test]
    fn launches_are_cut_to_what_runs_at_a_time() {
        // In turn, one block runs at a time.
        let simulated = Device::simulated();
        let facts = Facts { in_turn: true, ..simulated.facts().clone() };
        let device = simulated.with_facts(facts).unwrap();
        let gap = Panels { gap: 3, tile_length: 100, tile_width: 64, ..panels(100) };
        for (panels, fits) in [(panels(20), false), (gap, true)] {
            let mut recipe = Recipe::default();
            recipe.pass_together(panels.launch(Width::B4), panels.parts(), 0);
            assert_eq!(recipe.fit(&device).unwrap(), (!fits).then_some(1));
            let Step::Together(launch, _) = &recipe.steps[0] else { panic!() };
            assert_eq!(launch.grid[0] == 1, fits);
        }
    }
}

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
            Step::Launch(launch) | Step::FromScratch(launch) => launch.entry.name,
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
    /// The launches whose blocks wait for each other, and how many must run side by side.
    pub groups: Vec<(Launch, usize)>,
}

impl Recipe {
    /// Adds a launch that reads and writes the whole matrix, and needs so many zero bytes.
    pub fn pass(&mut self, launch: Launch, zeroed: usize) {
        if zeroed > 0 {
            self.steps.push(Step::Zero { bytes: zeroed });
            self.scratch = self.scratch.max(zeroed);
        }
        self.steps.push(Step::Launch(launch));
        self.passes += 1;
    }

    /// Says that so many blocks of a launch wait for each other.
    pub fn group(&mut self, launch: Launch, blocks: usize) {
        if blocks > 1 {
            self.groups.push((launch, blocks));
        }
    }

    /// Whether the device can run side by side what waits for each other. Without this, a
    /// launch could wait forever.
    pub fn can_run(&self, device: &Device) -> Result<bool> {
        for (launch, blocks) in &self.groups {
            if device.side_by_side(launch)?.is_some_and(|most| most < *blocks) {
                return Ok(false);
            }
        }
        Ok(true)
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
            let elapsed = device.time(|| self.step(step, device, matrix, scratch))?;
            Ok((step.name(), elapsed))
        })
    }

    /// Does the steps in their order. Behind the first one the matrix may be neither what it was nor
    /// what it should become, and an error says so.
    fn each<T>(&self, mut run: impl FnMut(&Step) -> Result<T>) -> Result<Vec<T>> {
        let interrupted = |index, error| match index {
            0 => error,
            _ => Error::Interrupted { source: Box::new(error) },
        };
        let steps = self.steps.iter().enumerate();
        steps.map(|(index, step)| run(step).map_err(|error| interrupted(index, error))).collect()
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
            (Step::Launch(launch), _) => unsafe {
                device.launch(launch, [matrix.address(), address])
            },
            // SAFETY: as above.
            (Step::FromScratch(launch), _) => unsafe {
                device.launch(launch, [address, matrix.address()])
            },
            (Step::Zero { .. } | Step::Save { .. } | Step::Restore { .. }, None) => {
                unreachable!("a recipe that uses scratch memory asks for some")
            }
        }
    }
}

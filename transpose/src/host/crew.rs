//! The threads of a move, and what each job of theirs is. All threads work on one or two steps at a time, so the ring can be so small that it
//! stays in the processor's cache.

use super::board::{Job, Load, Steps, Turns, Way};
use super::cargo::Cargo;
use super::pipeline::Pipeline;
use super::plan::HostPlan;
use super::progress::{Progress, Watch};
use super::staging::Staging;
use super::stores::Stores;
use super::stretches::Arrays;
use crate::device::Mark;
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::{Arc, Mutex, PoisonError};

/// What the threads of a move share.
pub(super) struct Crew<'a, T> {
    plan: &'a HostPlan,
    arrays: Arrays<T>,
    watch: &'a Watch<'a>,
    pipeline: Pipeline<'a>,
    slots: Vec<Slot<T>>,
    turns: Turns<&'a HostPlan>,
    done: Mutex<u64>,
}

/// What one step after the other takes of the host.
pub(super) struct Slot<T> {
    pub staging: Staging<T>,
    /// Behind the step.
    pub mark: Mark,
}

impl Steps for &HostPlan {
    type Cargo = Arc<Cargo>;
    type Error = Error;

    fn count(&self) -> usize {
        self.schedule.count()
    }

    fn step(&self, number: usize) -> Result<Arc<Cargo>> {
        let moves = self.schedule.step(number, self.element_bytes)?;
        Ok(Arc::new(Cargo::new(moves, self.element_bytes, self.shares)?))
    }
}

impl Load for Arc<Cargo> {
    fn shares(&self, way: Way) -> usize {
        Cargo::shares(self, way)
    }

    fn elements(&self) -> usize {
        Cargo::elements(self)
    }
}

// SAFETY: the threads read elements of the source, and each writes elements of the destination that no other one writes.
unsafe impl<T: Pod> Sync for Crew<'_, T> {}

impl<'a, T: Pod> Crew<'a, T> {
    /// For all steps of a plan.
    pub fn new(
        plan: &'a HostPlan,
        arrays: Arrays<T>,
        watch: &'a Watch<'a>,
        pipeline: Pipeline<'a>,
        slots: Vec<Slot<T>>,
    ) -> Self {
        let shared =
            [Way::Up, Way::Down].map(|way| slots.first().is_some_and(|slot| slot.staging.has(way)));
        let turns = Turns::new(plan, slots.len(), shared);
        Crew { plan, arrays, watch, pipeline, slots, turns, done: Mutex::new(0) }
    }

    /// Does all there is to do, with the plan's threads, of which the caller's is one.
    ///
    /// # Safety
    /// The plan's layouts lie in the arrays, which nobody else uses until the work of the pipeline's streams is done. Its places and the slots hold
    /// the plan's steps.
    pub unsafe fn run(&self) -> Result<()> {
        // SAFETY: the caller's obligations.
        super::threads::together(self.plan.threads, || unsafe { self.work() })
    }

    /// Does what there is to do, until there is nothing more.
    ///
    /// # Safety
    /// Those of [`run`](Self::run).
    unsafe fn work(&self) -> Result<()> {
        // SAFETY: the caller's obligations; a job is one thread's.
        let perform = |slot, job: &Job<_>| unsafe { self.perform(slot, job) };
        self.turns.work(perform, |elements| self.report(elements))
    }

    /// # Safety
    /// Those of [`run`](Self::run); nobody else does this job.
    unsafe fn perform(&self, slot: usize, job: &Job<Arc<Cargo>>) -> Result<()> {
        let Slot { staging, mark } = &self.slots[slot];
        // SAFETY: the caller's obligations.
        unsafe {
            match job {
                Job::Fill(cargo, share) => staging.fill(cargo, *share, &self.arrays),
                Job::Queue(cargo) => self.pipeline.launch(cargo, staging, &self.arrays, mark),
                Job::Await(_) => mark.synchronize(),
                Job::Empty(cargo, share) => {
                    let stores = Stores::of(self.plan.schedule.elements() * size_of::<T>());
                    staging.empty(cargo, *share, &self.arrays, stores)
                }
            }
        }
    }

    fn report(&self, elements: usize) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += (elements * size_of::<T>()) as u64;
        let total = (self.plan.schedule.elements() * size_of::<T>()) as u64;
        (self.watch)(Progress { done: *done, total });
    }
}

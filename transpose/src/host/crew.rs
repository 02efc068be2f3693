//! The threads of a move, and what each job of theirs is. All threads work on one or two steps at a time, so the ring can be so small that it
//! stays in the processor's cache.

use super::board::{Job, Load, Steps, Turns, Way};
use super::cargo::Cargo;
use super::ends::{Ends, Taken};
use super::pieces::Pieces;
use super::pipeline::Pipeline;
use super::plan::HostPlan;
use super::progress::{Progress, Watch};
use super::schedule::Move;
use super::staging::Staging;
use super::stretches::Arrays;
use super::threads::side_by_side;
use super::turn::Scratch;
use crate::device::Mark;
use crate::{Error, Result};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// What the threads of a move share.
pub(super) struct Crew<'a, T> {
    plan: &'a HostPlan,
    arrays: Arrays<T>,
    watch: &'a Watch<'a>,
    pipeline: Pipeline<'a>,
    slots: Vec<Slot<T>>,
    turns: Turns<Both<'a>>,
    done: Mutex<u64>,
}

/// What one step after the other takes of the host.
pub(super) struct Slot<T> {
    pub staging: Staging<T>,
    /// Behind the step.
    pub mark: Mark,
}

/// The steps of a plan, for the device and for cores beside it.
struct Both<'a> {
    plan: &'a HostPlan,
    ends: Ends<Arc<Pieces>>,
}

impl Steps for Both<'_> {
    type Cargo = Arc<Cargo>;
    type Error = Error;

    fn next(&self) -> Result<Option<Arc<Cargo>>> {
        let Some(taken) = self.ends.front() else { return Ok(None) };
        let moves = self.moves(taken)?;
        Ok(Some(Arc::new(Cargo::new(moves, self.plan.element_bytes, self.plan.shares)?)))
    }
}

impl Both<'_> {
    /// A piece of the last slice that is left, for a core, and its number.
    fn piece(&self) -> Result<Option<(Arc<Pieces>, usize)>> {
        self.ends.back(|taken| {
            let moves = self.moves(taken)?;
            let [moved] = moves[..] else { unreachable!("plans with cores are of single moves") };
            let pieces = Pieces::new(moved, self.plan.element_bytes, self.plan.stores())?;
            let count = pieces.count();
            Ok((Arc::new(pieces), count))
        })
    }

    /// What was taken of a step.
    fn moves(&self, Taken { step, slices }: Taken) -> Result<SmallVec<[Move; 2]>> {
        let moves = self.plan.schedule.step(step, self.plan.element_bytes)?;
        moves.iter().map(|moved| moved.slices(slices.clone(), self.plan.slices)).collect()
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
        let ends = Ends::new(plan.schedule.count(), plan.slices);
        let turns = Turns::new(Both { plan, ends }, slots.len(), shared);
        Crew { plan, arrays, watch, pipeline, slots, turns, done: Mutex::new(0) }
    }

    /// Does all there is to do, with the plan's threads, of which the caller's is one, and its cores beside.
    ///
    /// # Safety
    /// The plan's layouts lie in the arrays, which nobody else uses until the work of the pipeline's streams is done. Its places and the slots hold
    /// the plan's steps.
    pub unsafe fn run(&self) -> Result<()> {
        let ends = &self.turns.steps().ends;
        // SAFETY: the caller's obligations.
        let work = || ends.or_stop(|| unsafe { self.work() });
        // SAFETY: the caller's obligations.
        let beside = || ends.or_stop(|| unsafe { self.turn_pieces(usize::MAX) });
        side_by_side(self.plan.threads, work, self.plan.cores, beside)
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

    /// Takes pieces from the back, so many at most, until there are none.
    ///
    /// # Safety
    /// Those of [`run`](Self::run); the plan has cores.
    pub unsafe fn turn_pieces(&self, most: usize) -> Result<()> {
        let mut scratch = Scratch::default();
        for _ in 0..most {
            let Some((pieces, number)) = self.turns.steps().piece()? else { break };
            // SAFETY: the caller's obligations. Slices have no element of the destination in common, and each is taken once, from either end;
            // so what is written here neither the device writes, nor another core, which has other pieces. Nobody writes the source.
            let elements = unsafe { pieces.turn(number, &self.arrays, &mut scratch) }?;
            self.report(elements);
        }
        Ok(())
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
                    staging.empty(cargo, *share, &self.arrays, self.plan.stores())
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

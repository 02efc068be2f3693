//! The threads of a move, and who of them does what next.
//!
//! A step goes through stages: its shares are brought to the ring, its way through the device is queued, it is waited for, and its shares
//! are brought to where they belong. Whatever there is to do is done by whoever is free: all threads work on one or two steps at a time, so the
//! ring can be so small that it stays in the processor's cache.

use super::in_flight::{Cargo, Lanes, Staging, Way};
use super::plan::HostPlan;
use super::stretches::Arrays;
use super::turn::Stores;
use super::workspace::{Progress, Watch};
use crate::Result;
use crate::device::Mark;
use bytemuck::Pod;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the threads of a move share.
pub(super) struct Crew<'a, T> {
    plan: &'a HostPlan,
    arrays: Arrays<T>,
    watch: &'a Watch<'a>,
    lanes: Lanes<'a>,
    slots: Vec<Slot<T>>,
    board: Mutex<Board>,
    /// There is something new on the board.
    news: Condvar,
    done: Mutex<u64>,
}

/// What one step after the other takes of the host.
pub(super) struct Slot<T> {
    pub staging: Staging<T>,
    /// Behind the step.
    pub mark: Mark,
}

/// Where all steps are.
struct Board {
    /// The first step that nobody has taken.
    next: usize,
    /// How many steps were queued.
    queued: usize,
    /// Whether there are shares on the way up and on the way down.
    shared: [bool; 2],
    /// Of each slot.
    stages: Vec<Stage>,
    /// Somebody has failed.
    stop: bool,
}

/// How far a slot's step is.
enum Stage {
    Idle,
    /// Shares are brought to the ring.
    Filling(Arc<Cargo>, Shared),
    /// All of it can be queued.
    Filled(Arc<Cargo>),
    /// Somebody queues it, or waits for it.
    Held,
    /// It was queued as the step of this number.
    Flying(Arc<Cargo>, usize),
    /// Shares are brought to where they belong.
    Emptying(Arc<Cargo>, Shared),
}

/// How many shares were taken, and how many of these are done.
#[derive(Clone, Copy, Default)]
struct Shared {
    taken: usize,
    done: usize,
}

/// What one thread does, in a slot.
enum Job {
    Fill(Arc<Cargo>, usize),
    Queue(Arc<Cargo>),
    Await(Arc<Cargo>),
    Empty(Arc<Cargo>, usize),
}

/// What a thread finds on the board.
enum Found {
    Job(usize, Job),
    /// Others have it all in hand.
    Nothing,
    /// All is done, or somebody has failed.
    End,
}

/// What the end of a job means for others.
enum Ended {
    Quiet,
    /// There is something new to do.
    News,
    /// A step is done, which has written so many elements.
    Landed(usize),
}

// SAFETY: the threads read elements of the source, and each writes elements of the destination that no other one writes.
unsafe impl<T: Pod> Sync for Crew<'_, T> {}

impl<'a, T: Pod> Crew<'a, T> {
    /// For all steps of a plan.
    pub fn new(
        plan: &'a HostPlan,
        arrays: Arrays<T>,
        watch: &'a Watch<'a>,
        lanes: Lanes<'a>,
        slots: Vec<Slot<T>>,
    ) -> Self {
        let stages = slots.iter().map(|_| Stage::Idle).collect();
        let shared =
            [Way::Up, Way::Down].map(|way| slots.first().is_some_and(|slot| slot.staging.has(way)));
        let board = Mutex::new(Board { next: 0, queued: 0, shared, stages, stop: false });
        let (news, done) = (Condvar::new(), Mutex::new(0));
        Crew { plan, arrays, watch, lanes, slots, board, news, done }
    }

    /// Does all there is to do, with the plan's threads, of which the caller's is one.
    ///
    /// # Safety
    /// The plan's layouts lie in the arrays, which nobody else uses until the work of the lanes' streams is done. Lanes and slots hold
    /// the plan's steps.
    pub unsafe fn run(&self) -> Result<()> {
        std::thread::scope(|scope| {
            // SAFETY: the caller's obligations.
            let others: Vec<_> =
                (1..self.plan.threads).map(|_| scope.spawn(|| unsafe { self.work() })).collect();
            // SAFETY: as above.
            let mut ended = unsafe { self.work() };
            for other in others {
                let end = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                ended = ended.and(end);
            }
            ended
        })
    }

    /// Does what there is to do, until there is nothing more.
    ///
    /// # Safety
    /// Those of [`run`](Self::run).
    unsafe fn work(&self) -> Result<()> {
        let halt = Halt(self);
        while let Some((slot, job)) = self.take()? {
            // SAFETY: the caller's obligations; a job is one thread's.
            unsafe { self.perform(slot, &job)? };
            let ended = self.board().end(slot, job);
            match ended {
                Ended::Quiet => {}
                Ended::News => self.news.notify_all(),
                Ended::Landed(elements) => {
                    self.news.notify_all();
                    self.report(elements);
                }
            }
        }
        // What is left is in the hands of others.
        std::mem::forget(halt);
        Ok(())
    }

    /// The next job and its slot; waits while others have all of them.
    fn take(&self) -> Result<Option<(usize, Job)>> {
        let mut board = self.board();
        loop {
            match board.next(self.plan)? {
                Found::Job(slot, job) => {
                    if matches!(job, Job::Fill(_, 0)) {
                        self.news.notify_all();
                    }
                    return Ok(Some((slot, job)));
                }
                Found::Nothing => {
                    board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
                }
                Found::End => return Ok(None),
            }
        }
    }

    /// # Safety
    /// Those of [`run`](Self::run); nobody else does this job.
    unsafe fn perform(&self, slot: usize, job: &Job) -> Result<()> {
        let Slot { staging, mark } = &self.slots[slot];
        // SAFETY: the caller's obligations.
        unsafe {
            match job {
                Job::Fill(cargo, share) => staging.fill(cargo, *share, &self.arrays),
                Job::Queue(cargo) => self.lanes.launch(cargo, staging, &self.arrays, mark),
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

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops all threads when it goes: one has failed, or panics, and others would wait for it.
struct Halt<'a, 'b, T: Pod>(&'a Crew<'b, T>);

impl<T: Pod> Drop for Halt<'_, '_, T> {
    fn drop(&mut self) {
        self.0.board().stop = true;
        self.0.news.notify_all();
    }
}

impl Board {
    /// What is to be done first: what others wait for, and then what takes a step that was begun to its end.
    fn next(&mut self, plan: &HostPlan) -> Result<Found> {
        if self.stop {
            return Ok(Found::End);
        }
        if let Some(slot) = self.find(|stage| matches!(stage, Stage::Filled(_))) {
            return Ok(Found::Job(slot, self.hold(slot)));
        }
        if let Some(found) = self.share(Way::Down).or_else(|| self.share(Way::Up)) {
            return Ok(found);
        }
        let left = plan.schedule.count() - self.next;
        if left > 0
            && let Some(slot) = self.find(|stage| matches!(stage, Stage::Idle))
        {
            let moves = plan.schedule.step(self.next, plan.element_bytes)?;
            let cargo = Arc::new(Cargo::new(moves, plan.element_bytes, plan.shares)?);
            self.next += 1;
            if self.shared[Way::Up as usize] {
                self.stages[slot] = Stage::Filling(cargo, Shared::default());
                return Ok(self.share(Way::Up).unwrap_or(Found::Nothing));
            }
            self.stages[slot] = Stage::Filled(cargo);
            return Ok(Found::Job(slot, self.hold(slot)));
        }
        let flying = self.stages.iter().enumerate().filter_map(|(slot, stage)| match stage {
            Stage::Flying(_, number) => Some((number, slot)),
            _ => None,
        });
        if let Some((_, slot)) = flying.min() {
            return Ok(Found::Job(slot, self.hold(slot)));
        }
        let idle = self.stages.iter().all(|stage| matches!(stage, Stage::Idle));
        Ok(if left == 0 && idle { Found::End } else { Found::Nothing })
    }

    fn find(&self, wanted: impl Fn(&Stage) -> bool) -> Option<usize> {
        self.stages.iter().position(wanted)
    }

    /// What is to be done for a step by one thread alone.
    fn hold(&mut self, slot: usize) -> Job {
        match std::mem::replace(&mut self.stages[slot], Stage::Held) {
            Stage::Filled(cargo) => Job::Queue(cargo),
            Stage::Flying(cargo, _) => Job::Await(cargo),
            _ => unreachable!("only what was found to wait for one thread"),
        }
    }

    /// A share that nobody has taken.
    fn share(&mut self, way: Way) -> Option<Found> {
        self.stages.iter_mut().enumerate().find_map(|(slot, stage)| {
            let (cargo, shared) = match (stage, way) {
                (Stage::Filling(cargo, shared), Way::Up) => (cargo, shared),
                (Stage::Emptying(cargo, shared), Way::Down) => (cargo, shared),
                _ => return None,
            };
            let number = shared.taken;
            if number == cargo.shares(way) {
                return None;
            }
            shared.taken += 1;
            let cargo = cargo.clone();
            let job = if way == Way::Up { Job::Fill } else { Job::Empty };
            Some(Found::Job(slot, job(cargo, number)))
        })
    }

    /// Notes that a job is done.
    fn end(&mut self, slot: usize, job: Job) -> Ended {
        let stage = &mut self.stages[slot];
        match (job, &mut *stage) {
            (Job::Fill(cargo, _), Stage::Filling(_, shared)) => {
                shared.done += 1;
                if shared.done == cargo.shares(Way::Up) {
                    // This thread is the first to look for what is next.
                    *stage = Stage::Filled(cargo);
                }
                Ended::Quiet
            }
            (Job::Queue(cargo), _) => {
                *stage = Stage::Flying(cargo, self.queued);
                self.queued += 1;
                Ended::News
            }
            (Job::Await(cargo), _) if self.shared[Way::Down as usize] => {
                *stage = Stage::Emptying(cargo, Shared::default());
                Ended::News
            }
            (Job::Empty(cargo, _), Stage::Emptying(_, shared)) => {
                shared.done += 1;
                if shared.done < cargo.shares(Way::Down) {
                    return Ended::Quiet;
                }
                *stage = Stage::Idle;
                Ended::Landed(cargo.elements())
            }
            (job, _) => {
                *stage = Stage::Idle;
                Ended::Landed(job.cargo().elements())
            }
        }
    }
}

impl Job {
    fn cargo(&self) -> &Cargo {
        let (Job::Fill(cargo, _) | Job::Queue(cargo) | Job::Await(cargo) | Job::Empty(cargo, _)) =
            self;
        cargo
    }
}

//! Who of several threads does what next, of steps that go through slots.
//!
//! A step goes through stages: its shares are brought to the ring, its way through the device is queued, it is waited for, and its shares
//! are brought to where they belong. Whatever there is to do is done by whoever is free: all threads work on one or two steps at a time. What
//! the jobs are is for the caller: here is only who has which, and who waits. `crates/models` runs this file through all interleavings.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The two sides of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
}

/// What there is to move, step by step.
pub(super) trait Steps {
    /// What a step moves; clones are the same.
    type Cargo: Load + Clone;
    /// Why there is none.
    type Error;

    /// The next step; once there is none, there is none any more.
    fn next(&self) -> Result<Option<Self::Cargo>, Self::Error>;
}

/// What a step moves.
pub(super) trait Load {
    /// Shares of one side, each of which a thread brings by itself.
    fn shares(&self, way: Way) -> usize;

    /// Elements that are written.
    fn elements(&self) -> usize;
}

/// The board, and those who wait for news of it.
pub(super) struct Turns<S: Steps> {
    steps: S,
    board: Mutex<Board<S::Cargo>>,
    /// There is something new on the board.
    news: Condvar,
}

/// Where all steps are.
struct Board<C> {
    /// How many steps were queued.
    queued: usize,
    /// Whether there are shares on the way up and on the way down.
    shared: [bool; 2],
    /// Of each slot.
    stages: Vec<Stage<C>>,
    /// Somebody has failed.
    stop: bool,
}

/// How far a slot's step is.
enum Stage<C> {
    Idle,
    /// Shares are brought to the ring.
    Filling(C, Shared),
    /// All of it can be queued.
    Filled(C),
    /// Somebody queues it, or waits for it.
    Held,
    /// It was queued as the step of this number.
    Flying(C, usize),
    /// Shares are brought to where they belong.
    Emptying(C, Shared),
}

/// How many shares were taken, and how many of these are done.
#[derive(Clone, Copy, Default)]
struct Shared {
    taken: usize,
    done: usize,
}

/// What one thread does, in a slot.
pub(super) enum Job<C> {
    Fill(C, usize),
    Queue(C),
    Await(C),
    Empty(C, usize),
}

/// A slot, and a job in it.
type Taken<S> = (usize, Job<<S as Steps>::Cargo>);

/// What a thread finds on the board.
enum Found<C> {
    Job(usize, Job<C>),
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

impl<S: Steps> Turns<S> {
    /// For steps that go through so many slots, with shares on the way up, and on the way down, or without.
    pub fn new(steps: S, slots: usize, shared: [bool; 2]) -> Self {
        let stages = (0..slots).map(|_| Stage::Idle).collect();
        let board = Mutex::new(Board { queued: 0, shared, stages, stop: false });
        Turns { steps, board, news: Condvar::new() }
    }

    /// Does what there is to do, until there is nothing more; on each thread of several. `perform` does a job in a slot, `landed` is told of elements
    /// that are where they belong.
    pub fn work(
        &self,
        mut perform: impl FnMut(usize, &Job<S::Cargo>) -> Result<(), S::Error>,
        mut landed: impl FnMut(usize),
    ) -> Result<(), S::Error> {
        let halt = Halt(self);
        while let Some((slot, job)) = self.take()? {
            perform(slot, &job)?;
            let ended = self.board().end(slot, job);
            match ended {
                Ended::Quiet => {}
                Ended::News => self.news.notify_all(),
                Ended::Landed(elements) => {
                    self.news.notify_all();
                    landed(elements);
                }
            }
        }
        // What is left is in the hands of others.
        std::mem::forget(halt);
        Ok(())
    }

    /// The next job and its slot; waits while others have all of them.
    fn take(&self) -> Result<Option<Taken<S>>, S::Error> {
        let mut board = self.board();
        loop {
            match board.next(&self.steps)? {
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

    /// What there is to move.
    pub fn steps(&self) -> &S {
        &self.steps
    }

    fn board(&self) -> MutexGuard<'_, Board<S::Cargo>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops all threads when it goes: one has failed, or panics, and others would wait for it.
struct Halt<'a, S: Steps>(&'a Turns<S>);

impl<S: Steps> Drop for Halt<'_, S> {
    fn drop(&mut self) {
        self.0.board().stop = true;
        self.0.news.notify_all();
    }
}

impl<C: Load + Clone> Board<C> {
    /// What is to be done first: what others wait for, and then what takes a step that was begun to its end.
    fn next<S: Steps<Cargo = C>>(&mut self, steps: &S) -> Result<Found<C>, S::Error> {
        if self.stop {
            return Ok(Found::End);
        }
        if let Some(slot) = self.find(|stage| matches!(stage, Stage::Filled(_))) {
            return Ok(Found::Job(slot, self.hold(slot)));
        }
        if let Some(found) = self.share(Way::Down).or_else(|| self.share(Way::Up)) {
            return Ok(found);
        }
        if let Some(slot) = self.find(|stage| matches!(stage, Stage::Idle))
            && let Some(cargo) = steps.next()?
        {
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
        // An idle slot was offered to the next step: there is none.
        Ok(if idle { Found::End } else { Found::Nothing })
    }

    fn find(&self, wanted: impl Fn(&Stage<C>) -> bool) -> Option<usize> {
        self.stages.iter().position(wanted)
    }

    /// What is to be done for a step by one thread alone.
    fn hold(&mut self, slot: usize) -> Job<C> {
        match std::mem::replace(&mut self.stages[slot], Stage::Held) {
            Stage::Filled(cargo) => Job::Queue(cargo),
            Stage::Flying(cargo, _) => Job::Await(cargo),
            _ => unreachable!("only what was found to wait for one thread"),
        }
    }

    /// A share that nobody has taken.
    fn share(&mut self, way: Way) -> Option<Found<C>> {
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
    fn end(&mut self, slot: usize, job: Job<C>) -> Ended {
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

impl<C> Job<C> {
    fn cargo(&self) -> &C {
        let (Job::Fill(cargo, _) | Job::Queue(cargo) | Job::Await(cargo) | Job::Empty(cargo, _)) =
            self;
        cargo
    }
}

//! What watches over NCCL's calls: a thread that aborts the communicator of a call that does not return.
//!
//! NCCL permits that from another thread while a call waits. The guard does it with its lock held, and whoever calls takes the lock before and
//! after, so that nobody uses the communicator once it is gone.

use super::super::wire::Deadline;
use super::super::world::World;
use super::library::{Functions, RawComm};
use super::{LOOK, enter};
use crate::{Error, Result};
use cuda_driver::Context;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A communicator, and the thread that watches its calls.
pub(super) struct Guard {
    watched: Arc<Watched>,
    thread: Option<JoinHandle<()>>,
}

struct Watched {
    world: World,
    functions: &'static Functions,
    context: Context,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Null once it was aborted, or taken.
    comm: RawComm,
    /// When the call that is being made should have returned.
    calling: Option<Deadline>,
    /// There will be no more calls.
    ended: bool,
}

// SAFETY: the communicator is a name, which NCCL takes from any thread.
unsafe impl Send for State {}

impl Guard {
    /// Watches a communicator of the processes of a world.
    pub fn of(
        world: &World,
        functions: &'static Functions,
        context: &Context,
        comm: RawComm,
    ) -> Result<Self> {
        let state = Mutex::new(State { comm, calling: None, ended: false });
        let (world, context) = (world.clone(), context.clone());
        let watched =
            Arc::new(Watched { world, functions, context, state, changed: Condvar::new() });
        let watching = watched.clone();
        let started = std::thread::Builder::new().spawn(move || watching.watch());
        let thread = started
            .map_err(|error| Error::World { reason: format!("no thread for NCCL: {error}") })?;
        Ok(Guard { watched, thread: Some(thread) })
    }

    /// Calls NCCL with the communicator; one call at a time.
    pub fn call<R>(&self, work: impl FnOnce(RawComm) -> Result<R>) -> Result<R> {
        let gone = || Error::World { reason: "the communicator was aborted".to_owned() };
        let comm = {
            let mut state = self.watched.lock();
            if state.comm.is_null() || state.calling.is_some() {
                return Err(gone());
            }
            state.calling = Some(Deadline::after(self.watched.world.timeout()));
            state.comm
        };
        let done = work(comm);
        let mut state = self.watched.lock();
        state.calling = None;
        // What an aborted call says of itself is not why.
        if state.comm.is_null() { self.watched.world.require_all().and(Err(gone())) } else { done }
    }

    /// Ends what the communicator does, and itself.
    pub fn abort(&self) {
        self.watched.abort(&mut self.watched.lock());
    }

    /// The communicator, which is not watched any more; null if it was aborted.
    pub fn take(&self) -> RawComm {
        let mut state = self.watched.lock();
        state.ended = true;
        self.watched.changed.notify_all();
        std::mem::replace(&mut state.comm, std::ptr::null_mut())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.take();
        // It holds the GPU's context, which is not to be given up while the process ends.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks after the calls until there are no more.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.ended {
            let late = state.calling.is_some_and(|deadline| deadline.left().is_err());
            if late || state.calling.is_some() && self.world.require_all().is_err() {
                self.abort(&mut state);
                return;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
    }

    fn abort(&self, state: &mut State) {
        let comm = std::mem::replace(&mut state.comm, std::ptr::null_mut());
        if !comm.is_null()
            && let Ok(_current) = enter(&self.context)
        {
            // SAFETY: the communicator lives; a call that is waiting in it returns, and nobody uses it after that. A failure leaves
            // nothing to be done.
            let _ = unsafe { self.functions.ncclCommAbort(comm) };
        }
    }
}

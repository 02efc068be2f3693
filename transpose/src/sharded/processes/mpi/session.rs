//! MPI's beginning and end: the first that needs MPI initializes it, unless the program has, and the last that does finalizes it.

use super::super::wire::Deadline;
use super::super::world::World;
use super::library::{Functions, NO_STATUSES, Raw, SERIALIZED};
use crate::{Error, Result};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// MPI, which is initialized until this is dropped.
pub(super) struct Session {
    functions: &'static Functions,
}

/// An MPI that was initialized here.
struct Ours {
    /// How many sessions there are.
    users: usize,
    /// A process is not waited for any more, so MPI is not finalized.
    given_up: bool,
}

/// `None` if the program has initialized MPI, or nobody has.
static OURS: Mutex<Option<Ours>> = Mutex::new(None);

fn ours() -> MutexGuard<'static, Option<Ours>> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Has MPI be initialized, which waits for all processes that the launcher has started.
    pub fn open(functions: &'static Functions) -> Result<Self> {
        let mut ours = ours();
        let (mut initialized, mut finalized, mut provided) = (0, 0, 0);
        // SAFETY: both may be called at any time; the places are for flags.
        unsafe {
            functions.MPI_Initialized(&mut initialized)?;
            functions.MPI_Finalized(&mut finalized)?;
        }
        let refuse = |reason: &str| Err(Error::World { reason: reason.to_owned() });
        if finalized != 0 {
            return refuse("MPI was finalized, and cannot be initialized again");
        }
        let (none, no_arguments) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: MPI was not initialized, and needs no arguments; or it was. The place is for a number.
        unsafe {
            match initialized {
                0 => functions.MPI_Init_thread(none, no_arguments, SERIALIZED, &mut provided)?,
                _ => functions.MPI_Query_thread(&mut provided)?,
            }
        }
        if initialized == 0 {
            *ours = Some(Ours { users: 0, given_up: false });
        }
        if provided < SERIALIZED {
            return refuse("MPI was not initialized for calls from any thread");
        }
        if let Some(ours) = &mut *ours {
            ours.users += 1;
        }
        Ok(Session { functions })
    }

    pub fn functions(&self) -> &'static Functions {
        self.functions
    }

    /// Which process this is to MPI, and how many there are.
    pub fn place(&self) -> Result<[usize; 2]> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI is initialized; the places are for numbers.
        unsafe {
            self.functions.MPI_Comm_rank(self.functions.world()?, &mut rank)?;
            self.functions.MPI_Comm_size(self.functions.world()?, &mut size)?;
        }
        Ok([rank, size].map(|number| usize::try_from(number).unwrap_or(0)))
    }

    /// The session, if its processes have the ranks of a world's. If not, MPI is not finalized.
    pub fn of(self, world: &World) -> Result<Self> {
        let [rank, size] = self.place()?;
        if (rank, size) == (world.rank(), world.size()) {
            return Ok(self);
        }
        self.give_up();
        Err(Error::World { reason: format!("to MPI this is process {rank} of {size}") })
    }

    /// Waits until what was begun is done, or the deadline is over, or `go_on` refuses to wait.
    pub fn wait(
        &self,
        requests: &mut [Raw],
        deadline: Deadline,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        loop {
            let (mut done, count) = (0, requests.len() as c_int);
            let first = requests.as_mut_ptr();
            // SAFETY: the requests are MPI's, each of something that was begun; `done` is a place for a flag.
            unsafe { self.functions.MPI_Testall(count, first, &mut done, NO_STATUSES)? };
            if done != 0 {
                return Ok(());
            }
            go_on()?;
            let late = |_| Error::World { reason: "MPI did not answer in time".to_owned() };
            deadline.left().map_err(late)?;
            std::thread::yield_now();
        }
    }

    /// Has MPI not be finalized, which would wait for processes that have gone.
    pub fn give_up(&self) {
        if let Some(ours) = &mut *ours() {
            ours.given_up = true;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut ours = ours();
        let Some(Ours { users, given_up }) = &mut *ours else { return };
        *users -= 1;
        if *users == 0 && !*given_up {
            // SAFETY: it was initialized here, and nobody needs it any more. There is nobody left to tell of a failure.
            let _ = unsafe { self.functions.MPI_Finalize() };
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

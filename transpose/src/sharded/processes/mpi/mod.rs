//! The transport by MPI, through the host's memory: for devices of any kind, wherever MPI gets to.
//!
//! Nothing of MPI's waits here: what is sent and received is begun, and then asked after again and again, and so are the processes.

mod library;
mod meeting;
mod session;

use super::by_host::{Carried, room_for, to_device, to_host};
use super::transport::{Parcel, Transport};
use super::wire::Deadline;
use super::world::World;
use crate::device::Device;
use crate::{Error, Result};
use library::{Raw, library};
use session::Session;
use std::ffi::c_int;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Carries bytes through the host's memory by MPI, which is opened at run time: Open MPI's `libmpi.so.40`, or what the variable `MPI_LIBRARY`
/// names. A call waits for what it carries.
///
/// The program may have initialized MPI itself, for calls from any thread one at a time (`MPI_THREAD_SERIALIZED`), and then makes none while one of
/// this library's runs. Otherwise the first of these does, and the last that is dropped finalizes it, for good.
pub struct Mpi {
    world: World,
    /// Behind `comm`, which is freed before MPI may be finalized.
    session: Session,
    /// A communicator of its own, so that no message is taken for another's; `None` when it is freed, or given up.
    comm: Mutex<Option<Comm>>,
}

/// Open MPI's name for a communicator.
#[derive(Clone, Copy)]
struct Comm(Raw);

// SAFETY: a name; MPI takes it from any thread, and the lock that it is behind lets one call at a time.
unsafe impl Send for Comm {}

/// The most bytes of a message: a count is an `int`.
const MOST: usize = 1 << 30;

/// Between two looks at the other processes.
const LOOK: Duration = Duration::from_millis(10);

impl Mpi {
    /// By a communicator of all processes that `mpirun` or `srun` has started, which are those of a world, with the same ranks. All processes
    /// call this.
    ///
    /// # Errors
    /// [`Error::Mpi`], [`Error::World`] for processes with other ranks, and [`Error::Peer`].
    pub fn new(world: &World) -> Result<Self> {
        let functions = all(world, library())?;
        // Initializing waits for all processes: none of them lacks MPI.
        let session = all(world, Session::open(functions).and_then(|begun| begun.of(world)))?;
        let this = Mpi { world: world.clone(), session, comm: Mutex::new(None) };
        let mut comm = std::ptr::null_mut();
        // SAFETY: MPI is initialized; `comm` is a place for a communicator; all processes call this.
        unsafe {
            functions.MPI_Comm_dup(functions.world()?, &mut comm)?;
            functions.MPI_Comm_set_errhandler(comm, functions.errors_return()?)?;
        }
        *this.lock() = Some(Comm(comm));
        Ok(this)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Comm>> {
        self.comm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends all and receives all.
    fn swap(&self, sent: &[Carried], received: &mut [Carried]) -> Result<()> {
        let comm = self.lock();
        let gone = || Error::World { reason: "an exchange was given up".to_owned() };
        let Comm(comm) = (*comm).ok_or_else(gone)?;
        let functions = self.session.functions();
        let bytes = functions.bytes()?;
        let mut requests: Vec<Raw> = Vec::new();
        for (peer, whole) in received {
            for part in whole.chunks_mut(MOST) {
                let mut request = std::ptr::null_mut();
                let (to, count) = (part.as_mut_ptr().cast(), part.len() as c_int);
                // SAFETY: the bytes live until all requests are done, or for good; nobody else uses them.
                unsafe {
                    functions.MPI_Irecv(to, count, bytes, *peer as c_int, 0, comm, &mut request)?
                };
                requests.push(request);
            }
        }
        for (peer, whole) in sent {
            for part in whole.chunks(MOST) {
                let mut request = std::ptr::null_mut();
                let (from, count) = (part.as_ptr().cast(), part.len() as c_int);
                // SAFETY: likewise, and nobody writes them.
                unsafe {
                    functions.MPI_Isend(
                        from,
                        count,
                        bytes,
                        *peer as c_int,
                        0,
                        comm,
                        &mut request,
                    )?
                };
                requests.push(request);
            }
        }
        let mut look = Deadline::after(LOOK);
        self.session.wait(&mut requests, Deadline::after(self.world.timeout()), || {
            if look.left().is_err() {
                self.world.require_all()?;
                look = Deadline::after(LOOK);
            }
            Ok(())
        })
    }
}

/// What came of something that all processes do, if it went well in all of them.
fn all<R>(world: &World, mine: Result<R>) -> Result<R> {
    // Who has failed says so, for the others would wait.
    let said = world.all_gather(&[mine.is_ok().into()]);
    let failed = said.map(|said| said.iter().position(|said| said != &[1]));
    let (mine, failed) = (mine?, failed);
    match failed {
        Ok(None) => Ok(mine),
        failed => {
            // Without the others MPI is not finalized, which waits for them.
            std::mem::forget(mine);
            let reason = "it has no MPI".to_owned();
            Err(failed
                .map_or_else(|error| error, |rank| Error::Peer { rank: rank.unwrap_or(0), reason }))
        }
    }
}

// SAFETY: bytes come from the host's memory and go there by copies of exactly the parcels, which the queue orders; it reaches nothing.
unsafe impl Transport for Mpi {
    unsafe fn exchange(
        &self,
        _: usize,
        queue: &Device,
        out: &[Parcel],
        into: &[Parcel],
    ) -> Result<()> {
        // SAFETY: the caller's obligations.
        let sent = unsafe { to_host(queue, out)? };
        let mut received = room_for(into);
        if let Err(error) = self.swap(&sent, &mut received) {
            // What MPI has begun may go on.
            std::mem::forget((sent, received));
            self.abort();
            return Err(error);
        }
        // SAFETY: the caller's obligations.
        unsafe { to_device(queue, into, &received) }
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {
        // Given up, not freed: what it carries may never end.
        *self.lock() = None;
        self.world.fail(&Error::World { reason: "an exchange was given up".to_owned() });
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // One that was given up would be waited for, and processes of a world that has failed may have gone.
        let Some(Comm(mut comm)) = self.lock().take().filter(|_| !self.world.has_failed()) else {
            return self.session.give_up();
        };
        // SAFETY: all exchanges are done, and nobody has the communicator after this. There is nobody left to tell of a failure.
        let _ = unsafe { self.session.functions().MPI_Comm_free(&mut comm) };
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi").field("world", &self.world).finish_non_exhaustive()
    }
}

//! The transport by NCCL: from GPU to GPU over NVLink, or between hosts over the network.
//!
//! The communicator's calls do not wait: they begin, and whoever waits for them asks whether they are done, for so long as the world's timeout
//! permits. One that does not end is aborted, which ends its kernels too.

mod library;

use super::transport::{Parcel, Transport};
use super::wire::Deadline;
use super::world::World;
use crate::device::Device;
use crate::{Error, Result};
use cuda_driver::{Context, Current, Driver, RawContext};
use library::{BYTES, Config, Functions, IN_PROGRESS, RawComm, UniqueId, functions};
use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Carries bytes from GPU to GPU by NCCL, which is opened at run time: `libnccl.so.2`, or what the variable `NCCL_LIBRARY` names.
///
/// NVLink multicast is not asked for: on shared hosts set `NCCL_NVLS_ENABLE=0`, which point-to-point exchanges lose nothing by.
pub struct Nccl {
    world: World,
    functions: &'static Functions,
    context: Context,
    /// Null once it was aborted.
    comm: Mutex<Comm>,
    owned: bool,
}

/// NCCL's name for a communicator.
struct Comm(RawComm);

// SAFETY: NCCL takes a communicator from any thread, one at a time, which the mutex around it sees to.
unsafe impl Send for Comm {}

/// How often it is asked whether a call is done before others are looked at, and the thread sleeps.
const BRIEFLY: u32 = 2000;

/// Between two questions whether a call is done, later on.
const AGAIN: Duration = Duration::from_micros(50);

impl Nccl {
    /// A communicator of the processes of a world, this one's on `device`, a GPU. All processes call this.
    ///
    /// # Errors
    /// [`Error::Nccl`], [`Error::NoDevice`] for a device that is no GPU, [`Error::Peer`] and [`Error::World`].
    pub fn new(world: &World, device: &Device) -> Result<Self> {
        let ready = functions().and_then(|functions| Ok((functions, context_of(device)?)));
        // Who has none says so, for the others would wait.
        let id = match &ready {
            Ok((functions, _)) if world.rank() == 0 => {
                let mut id = UniqueId([0; 128]);
                // SAFETY: `id` is a place for one.
                unsafe { functions.ncclGetUniqueId(&mut id) }.map(|_| id.0.to_vec())
            }
            Ok(_) => Ok(vec![1]),
            Err(error) => Err(error.clone()),
        };
        let said = world.all_gather(id.as_deref().unwrap_or_default())?;
        id?;
        let (functions, context) = ready?;
        if let Some(rank) = said.iter().position(Vec::is_empty) {
            return Err(Error::Peer { rank, reason: "it has no NCCL, or no GPU".to_owned() });
        }
        let id: [u8; 128] = said[0]
            .as_slice()
            .try_into()
            .map_err(|_| Error::Peer { rank: 0, reason: "its NCCL is another one".to_owned() })?;
        let comm = {
            let _current = enter(&context)?;
            let mut comm: RawComm = std::ptr::null_mut();
            let mut config = Config::without_waiting();
            let (size, rank) = (world.size() as c_int, world.rank() as c_int);
            // SAFETY: places for a communicator and a configuration; the context of the rank's GPU is current.
            unsafe {
                functions.ncclCommInitRankConfig(&mut comm, size, UniqueId(id), rank, &mut config)
            }?;
            comm
        };
        let (world, comm) = (world.clone(), Mutex::new(Comm(comm)));
        let made = Nccl { world, functions, context, comm, owned: true };
        let deadline = Deadline::after(made.world.timeout());
        made.with(|comm| made.until_done("ncclCommInitRankConfig", comm, deadline))
            .inspect_err(|_| made.abort())?;
        Ok(made)
    }

    /// A communicator that the program has made, of the processes of a world with the same ranks, this one's on `device`. It is aborted if an
    /// exchange cannot be ended otherwise, and else left as it is. No process waits for another.
    ///
    /// # Safety
    /// `comm` is an `ncclComm_t` of the library that this one opens. Until this is dropped it lives, and nobody else uses it while one of this
    /// library's calls does, nor after one has failed.
    ///
    /// # Errors
    /// [`Error::Nccl`], [`Error::NoDevice`] for a device that is no GPU, and [`Error::World`] for a communicator of other ranks.
    pub unsafe fn from_raw(world: &World, device: &Device, comm: *mut c_void) -> Result<Self> {
        let (functions, context) = (functions()?, context_of(device)?);
        let (mut size, mut rank) = (0, 0);
        // SAFETY: the communicator lives; both are places for integers.
        unsafe {
            functions.ncclCommCount(comm, &mut size)?;
            functions.ncclCommUserRank(comm, &mut rank)?;
        }
        if (size, rank) != (world.size() as c_int, world.rank() as c_int) {
            let reason = format!("its communicator is rank {rank} of {size}");
            return Err(Error::World { reason });
        }
        let (world, comm) = (world.clone(), Mutex::new(Comm(comm)));
        Ok(Nccl { world, functions, context, comm, owned: false })
    }

    /// Calls NCCL with the communicator, the GPU's context current.
    fn with<R>(&self, work: impl FnOnce(RawComm) -> Result<R>) -> Result<R> {
        let comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner);
        if comm.0.is_null() {
            return Err(Error::World { reason: "the communicator was aborted".to_owned() });
        }
        let _current = enter(&self.context)?;
        work(comm.0)
    }

    /// What NCCL says of the work of a communicator: done, or not yet.
    fn state(&self, operation: &'static str, comm: RawComm) -> Result<bool> {
        let mut state = IN_PROGRESS;
        // SAFETY: the communicator lives; `state` is a place for an answer.
        unsafe { self.functions.ncclCommGetAsyncError(comm, &mut state) }?;
        self.functions.answer(operation, state)
    }

    /// Waits until what was begun is done.
    fn until_done(&self, operation: &'static str, comm: RawComm, deadline: Deadline) -> Result<()> {
        let mut asked = 0u32;
        while !self.state(operation, comm)? {
            asked = asked.saturating_add(1);
            // An exchange is begun in less time than a thread needs to wake up; connections take much longer.
            if asked < BRIEFLY {
                std::thread::yield_now();
                continue;
            }
            self.world.require_all()?;
            if deadline.left().is_err() {
                let reason = format!("{operation} did not end in time");
                return Err(Error::World { reason });
            }
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }
}

impl Transport for Nccl {
    unsafe fn exchange(&self, queue: &Device, out: &[Parcel], into: &[Parcel]) -> Result<()> {
        let stream = queue.cuda_stream().ok_or(Error::NoDevice { ordinal: 0, count: 0 })?;
        let deadline = Deadline::after(self.world.timeout());
        let functions = self.functions;
        self.with(|comm| {
            // SAFETY: the parcels lie in live memory, in order with the stream; the other processes make the calls that fit; whatever fails,
            // the group is ended.
            unsafe {
                functions.ncclGroupStart()?;
                let begun = || -> Result<()> {
                    for Parcel { peer, address, bytes } in out {
                        let from = *address as *const c_void;
                        functions.ncclSend(from, *bytes, BYTES, *peer as c_int, comm, stream)?;
                    }
                    for Parcel { peer, address, bytes } in into {
                        let to = *address as *mut c_void;
                        functions.ncclRecv(to, *bytes, BYTES, *peer as c_int, comm, stream)?;
                    }
                    Ok(())
                };
                let begun = begun();
                let ended = functions.ncclGroupEnd();
                begun?;
                if !ended? {
                    self.until_done("ncclGroupEnd", comm, deadline)?;
                }
            }
            Ok(())
        })
    }

    fn check(&self) -> Result<()> {
        self.world.require_all()?;
        self.with(|comm| self.state("ncclCommGetAsyncError", comm).map(drop))
    }

    fn abort(&self) {
        let mut comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner);
        let aborted = std::mem::replace(&mut comm.0, std::ptr::null_mut());
        if !aborted.is_null()
            && let Ok(_current) = enter(&self.context)
        {
            // SAFETY: the communicator lives, and nobody uses it after this. A failure leaves nothing to be done.
            let _ = unsafe { self.functions.ncclCommAbort(aborted) };
        }
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        let comm = self.comm.get_mut().unwrap_or_else(PoisonError::into_inner).0;
        if !self.owned || comm.is_null() {
            return;
        }
        let deadline = Deadline::after(self.world.timeout());
        let Ok(_current) = enter(&self.context) else { return };
        // SAFETY: all exchanges have been waited for, and nobody uses the communicator after this.
        let finalized = unsafe { self.functions.ncclCommFinalize(comm) };
        let done = finalized.and_then(|_| self.until_done("ncclCommFinalize", comm, deadline));
        // SAFETY: as above; what could not be ended is aborted. There is nobody left to tell.
        let _ = unsafe {
            match done {
                Ok(()) => self.functions.ncclCommDestroy(comm),
                Err(_) => self.functions.ncclCommAbort(comm),
            }
        };
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nccl").field("world", &self.world).finish_non_exhaustive()
    }
}

/// The context of a GPU, which is kept: a primary one is retained once more.
fn context_of(device: &Device) -> Result<Context> {
    let (Some(raw), Some(ordinal)) = (device.cuda_context(), device.cuda_ordinal()) else {
        return Err(Error::NoDevice { ordinal: 0, count: 0 });
    };
    let driver = Driver::get()?;
    let primary = Context::primary(driver.device(ordinal)?)?;
    if primary.as_raw() == RawContext(raw) {
        return Ok(primary);
    }
    // NCCL works with the primary context of the current device.
    Err(Error::World { reason: "NCCL needs the GPU's primary context".to_owned() })
}

fn enter(context: &Context) -> Result<Current<'_>> {
    Ok(context.enter()?)
}

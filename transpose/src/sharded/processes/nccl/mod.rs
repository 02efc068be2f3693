//! The transport by NCCL: from GPU to GPU over NVLink, or between hosts over the network.
//!
//! NCCL's calls wait for the other processes while connections are made, without end. So a communicator is made on a thread of its own, and a guard
//! watches over every call: one that does not return in the world's timeout, or while another process has gone, is ended by aborting the
//! communicator, which ends its kernels too. (A communicator whose calls do not wait needs no guard, but NCCL starts a thread for each of them:
//! 170 µs an exchange, in which a link carries 60 MB.)

mod guard;
mod library;

use super::transport::{Parcel, Transport};
use super::wire::Deadline;
use super::world::World;
use crate::device::Device;
use crate::{Error, Result};
use cuda_driver::{Context, Current, Driver, RawContext};
use guard::Guard;
use library::{BYTES, Functions, ID_BYTES, RawComm, UniqueId, library};
use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Carries bytes from GPU to GPU by NCCL, which is opened at run time: `libnccl.so.2`, or what the variable `NCCL_LIBRARY` names.
///
/// NVLink multicast is not asked for: on shared hosts set `NCCL_NVLS_ENABLE=0`, which point-to-point exchanges lose nothing by.
pub struct Nccl {
    world: World,
    functions: &'static Functions,
    context: Context,
    /// One communicator a lane.
    lanes: Vec<Guard>,
    owned: bool,
}

/// Between two looks at the other processes.
const LOOK: Duration = Duration::from_millis(20);

impl Nccl {
    /// A communicator of the processes of a world, this one's on `device`, a GPU. All processes call this.
    ///
    /// # Errors
    /// [`Error::Nccl`], [`Error::NoDevice`] for a device that is no GPU, [`Error::Peer`] and [`Error::World`].
    pub fn new(world: &World, device: &Device) -> Result<Self> {
        Self::with_lanes(world, device, 1)
    }

    /// So many communicators, at least one, by which as many exchanges are on their way at a time: over NVLink one alone uses less than half of the
    /// link with parcels of some MiB, three use two thirds. Each takes memory of NCCL's and a part of a second to be made. Kernels of
    /// several communicators must find room on a GPU together: NCCL warns of more than one where it has few multiprocessors. All processes call this, with
    /// the same number.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_lanes(world: &World, device: &Device, lanes: usize) -> Result<Self> {
        let lanes = lanes.max(1);
        let ready = library().and_then(|functions| Ok((functions, context_of(device)?)));
        // Who has none says so, for the others would wait.
        let ids = match &ready {
            Ok((functions, _)) if world.rank() == 0 => {
                let id = |_| {
                    let mut id = UniqueId([0; ID_BYTES]);
                    // SAFETY: `id` is a place for one.
                    unsafe { functions.ncclGetUniqueId(&mut id) }.map(|_| id.0)
                };
                (0..lanes).map(id).collect::<Result<Vec<_>>>().map(|ids| ids.concat())
            }
            Ok(_) => Ok((lanes as u64).to_le_bytes().to_vec()),
            Err(error) => Err(error.clone()),
        };
        let said = world.all_gather(ids.as_deref().unwrap_or_default())?;
        ids?;
        let (functions, context) = ready?;
        if let Some(rank) = said.iter().position(Vec::is_empty) {
            return Err(Error::Peer { rank, reason: "it has no NCCL, or no GPU".to_owned() });
        }
        // All look at all, so that all refuse.
        let (ids, _) = said[0].as_chunks::<ID_BYTES>();
        let asked = (ids.len() as u64).to_le_bytes();
        if let Some(rank) = (1..said.len()).find(|&rank| said[rank] != asked) {
            let reason = "it has not as many lanes as the first process".to_owned();
            return Err(Error::Peer { rank, reason });
        }
        let (size, rank) = (world.size() as c_int, world.rank() as c_int);
        let mut lanes = Vec::with_capacity(ids.len());
        for id in ids.iter().copied() {
            let all_there = || world.require_all();
            let comm = in_time(world, context.clone(), all_there, move || {
                let mut comm: RawComm = std::ptr::null_mut();
                // SAFETY: a place for a communicator; the context of the rank's GPU is current.
                unsafe { functions.ncclCommInitRank(&mut comm, size, UniqueId(id), rank) }?;
                Ok(Comm(comm))
            })?;
            lanes.push(Guard::of(world, functions, &context, comm.0)?);
        }
        Ok(Nccl { world: world.clone(), functions, context, lanes, owned: true })
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
        let (functions, context) = (library()?, context_of(device)?);
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
        let lanes = vec![Guard::of(world, functions, &context, comm)?];
        Ok(Nccl { world: world.clone(), functions, context, lanes, owned: false })
    }
}

/// NCCL's name for a communicator.
struct Comm(RawComm);

// SAFETY: a name; NCCL takes it from any thread.
unsafe impl Send for Comm {}

/// Does on a thread of its own, in a GPU's context, what may never end. If it does not end in the world's timeout, or `go_on` refuses to wait
/// any more, the thread is left to itself: a process that ends while NCCL still works in it may be killed by what NCCL finds gone.
fn in_time<R: Send + 'static>(
    world: &World,
    context: Context,
    go_on: impl Fn() -> Result<()>,
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        let result = enter(&context).and_then(|_current| work());
        // Whoever has given up does not hear of it.
        let _ = done.send(result);
    });
    let deadline = Deadline::after(world.timeout());
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(result) => {
                // It holds the GPU's context, which is not to be given up while the process ends.
                let _ = thread.join();
                return result;
            }
            Err(RecvTimeoutError::Timeout) => go_on()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::World { reason: "a thread of NCCL's has ended".to_owned() });
            }
        }
        if deadline.left().is_err() {
            return Err(Error::World { reason: "NCCL did not answer in time".to_owned() });
        }
    }
}

// SAFETY: NCCL is given the parcels, as long as they are, on the queue's stream; aborted communicators end what is on their streams; it reaches nothing.
unsafe impl Transport for Nccl {
    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    unsafe fn exchange(
        &self,
        lane: usize,
        queue: &Device,
        out: &[Parcel],
        into: &[Parcel],
    ) -> Result<()> {
        let stream = queue.cuda_stream().ok_or(Error::NoDevice { ordinal: 0, count: 0 })?;
        let functions = self.functions;
        let _current = enter(&self.context)?;
        let lane = self
            .lanes
            .get(lane)
            .ok_or_else(|| Error::World { reason: "there is no such lane".to_owned() })?;
        lane.call(|comm| {
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
                begun.and(ended)
            }
        })
    }

    fn check(&self) -> Result<()> {
        self.world.require_all()?;
        self.lanes.iter().try_for_each(|lane| {
            lane.call(|comm| {
                let mut state = 0;
                // SAFETY: the communicator lives; `state` is a place for an answer.
                unsafe { self.functions.ncclCommGetAsyncError(comm, &mut state) }?;
                self.functions.answer("ncclCommGetAsyncError", state)
            })
        })
    }

    fn abort(&self) {
        // All at once: to abort one may wait for kernels of another.
        std::thread::scope(|scope| {
            for lane in &self.lanes {
                let begun = std::thread::Builder::new().spawn_scoped(scope, || lane.abort());
                // Without a thread of its own it has its turn.
                if begun.is_err() {
                    lane.abort();
                }
            }
        });
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        for lane in &self.lanes {
            // What waits for others would wait for those that have gone.
            if self.owned && self.world.require_all().is_err() {
                lane.abort();
            }
            let comm = Comm(lane.take());
            if !self.owned || comm.0.is_null() {
                continue;
            }
            let functions = self.functions;
            // Others may be done, and gone, while this process still frees what it has. There is nobody left to tell what came of it.
            let whoever_has_gone = || Ok(());
            let _ = in_time(&self.world, self.context.clone(), whoever_has_gone, move || {
                let Comm(comm) = { comm };
                // SAFETY: all exchanges have been waited for, and nobody uses the communicator after this.
                unsafe { functions.ncclCommDestroy(comm) }
            });
        }
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

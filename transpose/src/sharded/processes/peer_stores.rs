//! Processes of one host that open each other's memory, so that kernels store straight to it.
//!
//! A process names the allocation that its destination lies in by a handle of the driver's, which goes to the others with all that they tell
//! each other before an exchange. Opening takes longer than an exchange, so what was opened is kept and found again by what was offered. All processes keep
//! the same offers in the same order, so that all open, or find, at the same time.
//!
//! An allocation may be freed while others still have it open: the driver keeps the memory until they close it, and nobody stores to it, for its
//! number is never offered again.

use super::transport::{Parcel, Transport};
use super::world::World;
use crate::device::{Buffer, Device};
use crate::{Error, Result};
use cuda_driver::{Context, Driver, MemoryHandle, OpenedMemory, RawContext};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sets of destinations that are kept open.
const KEPT: usize = 8;

/// Has the GPUs of processes on one host store straight to each other's memory, as those of one process do: nothing is packed, and nothing but the
/// arrays takes memory. What cannot go so is carried by another transport: between hosts, between devices that do not reach each other, and to destinations
/// in memory that processes do not share.
///
/// Arrays from [`DistributedTensor::zeroed_for_peers`](crate::DistributedTensor::zeroed_for_peers) lie in memory that processes share, and so do
/// shards in memory of `cuMemAlloc` and `cudaMalloc`; what a [`Device`] allocates comes from a pool, which is not shared.
#[derive(Debug)]
pub struct PeerStores<T> {
    world: World,
    context: Option<Context>,
    /// What tells this host from others.
    host: Vec<u8>,
    opened: Mutex<Opened>,
    /// What was offered last, of which destination.
    offered: Mutex<Option<(Place, Vec<u8>)>>,
    /// Whether the last exchange was stored.
    stored: AtomicBool,
    carrier: T,
}

/// An address, bytes, and the number of the allocation that they lie in.
type Place = (u64, usize, u64);

/// What was opened for the offers of all processes, the latest last; or that not all could.
type Known = (Vec<Vec<u8>>, Option<Vec<Reached>>);

#[derive(Debug, Default)]
struct Opened {
    known: VecDeque<Known>,
}

/// A destination: an allocation, how far behind its start, or where in this process.
#[derive(Clone, Debug)]
enum Reached {
    Own(u64),
    Theirs(Arc<OpenedMemory>, u64),
}

/// What a process offers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Offer {
    handle: [u8; 64],
    /// Where the allocation starts in its process, and its number there.
    base: u64,
    id: u64,
    /// Bytes from the allocation's start to the destination.
    offset: u64,
    host: Vec<u8>,
}

impl<T: Transport> PeerStores<T> {
    /// Stores from `device`, this process's of the world; what does not go so is carried by `carrier`. No process waits for another.
    ///
    /// # Errors
    /// What the device reports.
    pub fn new(world: &World, device: &Device, carrier: T) -> Result<Self> {
        let context = context_of(device)?;
        // One that changes whenever the host is started. Where there is none, nothing is offered.
        let host = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let world = world.clone();
        let (opened, offered) = (Mutex::default(), Mutex::default());
        let stored = AtomicBool::new(false);
        Ok(PeerStores { world, context, host, opened, offered, stored, carrier })
    }

    /// Whether the last exchange was stored, and not carried.
    pub fn has_stored(&self) -> bool {
        self.stored.load(Ordering::Relaxed)
    }

    /// What is to be said of the memory at an address.
    fn offer_of(&self, address: u64, bytes: usize) -> Option<Offer> {
        let context = self.context.as_ref().filter(|_| !self.host.is_empty())?;
        if bytes == 0 {
            let host = self.host.clone();
            return Some(Offer { handle: [0; 64], base: 0, id: 0, offset: 0, host });
        }
        let (base, length) = context.allocation_around(address).ok()?;
        let offset = address.checked_sub(base)?;
        if offset.checked_add(bytes as u64)? > length as u64 {
            return None;
        }
        let (id, handle) = (context.allocation_id(address).ok()?, context.share(base).ok()?.0);
        Some(Offer { handle, base, id, offset, host: self.host.clone() })
    }

    /// Opens what the processes offer, as far as it is not open yet; `None` if something cannot be.
    fn open(&self, opened: &Opened, offers: &[Vec<u8>]) -> Option<Vec<Reached>> {
        let context = self.context.as_ref()?;
        // In an exchange of another world another process may have this one's rank.
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, mine) = offered.as_ref()?;
        offers.get(self.world.rank()).filter(|offer| *offer == mine)?;
        let one = |(rank, offer): (usize, &Vec<u8>)| {
            let offer = Offer::of(offer).filter(|offer| offer.host == self.host)?;
            if rank == self.world.rank() || offer.id == 0 {
                return Some(Reached::Own(offer.base + offer.offset));
            }
            let memory = match opened.find(rank, &offer) {
                Some(memory) => memory,
                None => Arc::new(OpenedMemory::open(context, &MemoryHandle(offer.handle)).ok()?),
            };
            Some(Reached::Theirs(memory, offer.offset))
        };
        offers.iter().enumerate().map(one).collect()
    }
}

impl Opened {
    /// What was opened of a process's allocation.
    fn find(&self, rank: usize, offer: &Offer) -> Option<Arc<OpenedMemory>> {
        self.known.iter().find_map(|(offers, reached)| {
            let known = Offer::of(offers.get(rank)?)?;
            match reached.as_ref()?.get(rank)? {
                Reached::Theirs(memory, _) if (known.id, known.base) == (offer.id, offer.base) => {
                    Some(memory.clone())
                }
                _ => None,
            }
        })
    }

    /// Closes what processes have had where they now offer something else, and what was not needed for longest.
    fn make_place(&mut self, offers: &[Vec<u8>]) {
        let is_gone = |(new, old): (&Vec<u8>, &Vec<u8>)| match (Offer::of(new), Offer::of(old)) {
            (Some(new), Some(old)) => new.base == old.base && new.id != old.id,
            _ => false,
        };
        self.known.retain(|(known, _)| !offers.iter().zip(known).any(is_gone));
        while self.known.len() >= KEPT {
            self.known.pop_front();
        }
    }
}

impl Offer {
    fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.base, self.id, self.offset].map(u64::to_le_bytes).concat();
        [&self.handle[..], &numbers, &self.host].concat()
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let (handle, rest) = bytes.split_first_chunk::<64>()?;
        let (base, rest) = rest.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (offset, host) = rest.split_first_chunk()?;
        let [base, id, offset] = [base, id, offset].map(|bytes| u64::from_le_bytes(*bytes));
        Some(Offer { handle: *handle, base, id, offset, host: host.to_vec() })
    }
}

// SAFETY: what is reached is this process's memory, or what the driver has opened of the others' allocations, as far behind their starts as offered; it stays open until other offers take its
// place, which a later call brings. All else is the carrier's.
unsafe impl<T: Transport> Transport for PeerStores<T> {
    fn lanes(&self) -> usize {
        self.carrier.lanes()
    }

    fn offer(&self, address: u64, bytes: usize) -> Vec<u8> {
        self.stored.store(false, Ordering::Relaxed);
        let id = self.context.as_ref().and_then(|context| context.allocation_id(address).ok());
        let place = (address, bytes, id.unwrap_or(0));
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        match &*offered {
            // To ask the driver for a handle takes longer than to ask whether the memory is the same.
            Some((known, said)) if *known == place => said.clone(),
            _ => {
                let offer = self.offer_of(address, bytes).map(|offer| offer.to_bytes());
                offered.insert((place, offer.unwrap_or_default())).1.clone()
            }
        }
    }

    fn reach(&self, offers: &[Vec<u8>]) -> Result<Option<Vec<u64>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let known = opened.known.iter().position(|(known, _)| known == offers);
        let known = match known.and_then(|at| opened.known.remove(at)) {
            Some(known) => known,
            None => {
                opened.make_place(offers);
                let reached = self.open(&opened, offers);
                // All or nobody.
                let all = self.world.all_gather(&[reached.is_some().into()])?;
                (offers.to_vec(), reached.filter(|_| all.iter().all(|one| one == &[1])))
            }
        };
        let addresses =
            known.1.as_ref().map(|reached| reached.iter().map(Reached::address).collect());
        self.stored.store(known.1.is_some(), Ordering::Relaxed);
        opened.known.push_back(known);
        Ok(addresses)
    }

    unsafe fn exchange(
        &self,
        lane: usize,
        queue: &Device,
        out: &[Parcel],
        into: &[Parcel],
    ) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.carrier.exchange(lane, queue, out, into) }
    }

    fn check(&self) -> Result<()> {
        self.carrier.check()
    }

    fn abort(&self) {
        self.carrier.abort();
    }
}

impl Reached {
    fn address(&self) -> u64 {
        match self {
            Reached::Own(address) => *address,
            Reached::Theirs(memory, offset) => memory.address() + offset,
        }
    }
}

/// Memory of `bytes` > 0 bytes that processes share, holding whatever it held; `None` for a device that shares none.
pub(super) fn shareable(device: &Device, bytes: usize) -> Result<Option<Buffer>> {
    let Some(context) = context_of(device)? else { return Ok(None) };
    let address = context.allocate(bytes).map_err(|error| match error.code() {
        Some(cuda_driver::Error::OUT_OF_MEMORY) => {
            Error::OutOfMemory { device: device.name().to_owned(), bytes: bytes as u64 }
        }
        _ => error.into(),
    })?;
    let free = move |device: &Device| {
        // Failures are those of queued work, and nobody is left to tell.
        let _ = device.synchronize();
        // SAFETY: it was allocated above, and what used it is done.
        let _ = unsafe { context.free(address) };
    };
    Ok(Some(Buffer::of_others(device, address, bytes, free)))
}

/// A GPU's primary context, which is kept; `None` for a device that works in none.
fn context_of(device: &Device) -> Result<Option<Context>> {
    let (Some(raw), Some(ordinal)) = (device.cuda_context(), device.cuda_ordinal()) else {
        return Ok(None);
    };
    let primary = Context::primary(Driver::get()?.device(ordinal)?)?;
    Ok(Some(primary).filter(|primary| primary.as_raw() == RawContext(raw)))
}

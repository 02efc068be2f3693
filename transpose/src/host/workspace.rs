//! Streams, device memory and pinned memory that calls use again.

use super::in_flight::{Flight, Streams};
use super::plan::{ALIGNMENT, HostPlan, Route, Side};
use super::stretches::Arrays;
use super::{Bus, HostOptions, HostView, HostViewMut};
use crate::device::{Buffer, Device, HostMemory};
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Moves between host arrays, with what they take: streams, device memory and pinned memory, which are made when they are needed and
/// kept.
///
/// For programs that move again and again. Pinned memory takes milliseconds to be had.
#[derive(Debug)]
pub struct Workspace {
    device: Device,
    options: HostOptions,
    streams: Vec<Device>,
    memory: Option<Buffer>,
    ring: Option<(HostMemory, usize)>,
}

/// How far a move is: bytes of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// That are there.
    pub done: u64,
    /// That will be.
    pub total: u64,
}

/// What is told how far a move is, on whichever thread has come so far.
pub type Watch<'a> = dyn Fn(Progress) + Sync + 'a;

impl Workspace {
    /// One that has nothing yet.
    pub fn new(device: &Device, options: HostOptions) -> Self {
        let device = device.clone();
        Workspace { device, options, streams: Vec::new(), memory: None, ring: None }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it was made with.
    pub fn options(&self) -> &HostOptions {
        &self.options
    }

    /// Bytes of device memory that it has at present.
    pub fn device_bytes(&self) -> usize {
        self.memory.as_ref().map_or(0, Buffer::bytes)
    }

    /// Bytes of pinned memory that it has at present.
    pub fn ring_bytes(&self) -> usize {
        self.ring.as_ref().map_or(0, |&(_, bytes)| bytes)
    }

    /// Copies the elements of one host array to another of the same shape. They are there when this returns.
    ///
    /// # Errors
    /// Those of [`copy_into`](super::copy_into).
    pub fn copy_into<T: Pod>(&mut self, src: HostView<T>, dst: HostViewMut<T>) -> Result<()> {
        self.copy_into_watched(src, dst, &|_| ())
    }

    /// Like [`copy_into`](Self::copy_into), and tells how far it is.
    ///
    /// # Errors
    /// Those of [`copy_into`](super::copy_into).
    pub fn copy_into_watched<T: Pod>(
        &mut self,
        src: HostView<T>,
        mut dst: HostViewMut<T>,
        watch: &Watch,
    ) -> Result<()> {
        let element = size_of::<T>();
        if src.layout().is_empty() || element == 0 {
            return require_shape(&src, &dst);
        }
        let sides = (
            Side { layout: src.layout(), pinned: src.is_pinned() },
            Side { layout: dst.layout(), pinned: dst.is_pinned() },
        );
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let plan = HostPlan::between(sides.0, sides.1, element, &self.options, cores)?;
        self.prepare(&plan, align_of::<T>())?;
        let arrays = Arrays { src: src.start(), dst: dst.start_mut() };
        // SAFETY: the views borrow the elements of the plan's two layouts, one of them exclusively, until all work is done; the plan's
        // memory is there.
        unsafe { self.run(&plan, arrays, watch) }
    }

    /// Transposes a host array into another, whose shape is the source's reversed.
    ///
    /// # Errors
    /// Those of [`copy_into`](super::copy_into).
    pub fn transpose_into<T: Pod>(&mut self, src: HostView<T>, dst: HostViewMut<T>) -> Result<()> {
        self.copy_into(src.t(), dst)
    }

    /// So many streams and so much device memory, which is there for what is queued on them.
    pub(super) fn streams_and_memory(
        &mut self,
        streams: usize,
        bytes: usize,
    ) -> Result<(&[Device], &Buffer)> {
        while self.streams.len() < streams {
            self.streams.push(self.device.new_stream()?);
        }
        let memory = match self.memory.take().filter(|memory| memory.bytes() >= bytes) {
            Some(memory) => memory,
            None => self.device.allocate(bytes)?,
        };
        let memory = self.memory.insert(memory);
        // The memory's queue is the device's.
        self.streams[..streams].iter().try_for_each(|stream| stream.wait_for(&self.device))?;
        Ok((&self.streams[..streams], memory))
    }

    /// Takes what a plan needs and is not there yet.
    pub(super) fn prepare(&mut self, plan: &HostPlan, align: usize) -> Result<()> {
        let (needed, align) = (plan.ring_bytes(), align.max(ALIGNMENT));
        if needed > 0 && self.ring.as_ref().is_none_or(|&(_, bytes)| bytes < needed) {
            self.ring = None;
            self.ring = Some((self.device.allocate_host(needed, align)?, needed));
        }
        self.streams_and_memory(3, plan.device_bytes())?;
        Ok(())
    }

    /// Moves all tiles; no work uses any memory when this returns, whatever it returns.
    ///
    /// # Safety
    /// The plan's layouts lie in the arrays, which nobody else uses meanwhile. What the plan needs is there.
    pub(super) unsafe fn run<T: Pod>(
        &self,
        plan: &HostPlan,
        arrays: Arrays<T>,
        watch: &Watch,
    ) -> Result<()> {
        let work = Work {
            plan,
            arrays,
            watch,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            done: Mutex::new(0),
        };
        let _settled = Settled(&self.streams);
        let flights = self.flights(plan);
        if plan.threads == 1 {
            // SAFETY: the caller's obligations; each tile is moved once.
            return unsafe { work.by_one(flights) };
        }
        let mut flights = flights.into_iter();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..plan.threads)
                .map(|_| {
                    let own = flights.by_ref().take(plan.depth).collect();
                    let work = &work;
                    // SAFETY: the caller's obligations; each tile is moved once, by one thread.
                    scope.spawn(move || unsafe { work.by_one(own) })
                })
                .collect();
            let ends = threads.into_iter().map(|thread| match thread.join() {
                Ok(end) => end,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            // All of them are waited for.
            ends.collect::<Vec<_>>().into_iter().collect()
        })
    }

    /// The slots of a plan: each has its part of each memory.
    fn flights<T: Pod>(&self, plan: &HostPlan) -> Vec<Flight<'_, T>> {
        let device = self.memory.as_ref().map_or(0, Buffer::address);
        let [up, turn, down, ..] = &self.streams[..] else { return Vec::new() };
        let streams = Streams { up, turn, down };
        let slot = |number: usize| {
            let address = device + (2 * number * plan.slot_bytes) as u64;
            let rings = [plan.upload, plan.download];
            let mut ring = 0;
            let staging = rings.map(|route| {
                let (memory, _) = self.ring.as_ref().filter(|_| route == Route::Ring)?;
                let at = (ring * plan.slots() + number) * plan.slot_bytes;
                ring += 1;
                // SAFETY: the ring has a slot for each tile under way on each side that goes through it.
                Some(unsafe { memory.start().add(at) }.cast())
            });
            let outgoing = address + plan.slot_bytes as u64;
            // A simulated device does not reach the host's memory.
            let bus = rings.map(|route| match route {
                Route::Direct(bus) if self.device.is_gpu() => bus,
                _ => Bus::Engine,
            });
            Flight::new(streams, [address, outgoing], staging, bus)
        };
        (0..plan.slots()).map(slot).collect()
    }
}

/// Refuses arrays of two shapes.
fn require_shape<T: Pod>(src: &HostView<T>, dst: &HostViewMut<T>) -> Result<()> {
    let (src, dst) = (src.layout().shape(), dst.layout().shape());
    if src == dst {
        return Ok(());
    }
    Err(Error::TensorShapeMismatch { src: src.to_vec(), dst: dst.to_vec() })
}

/// What the threads of a move share.
struct Work<'a, T> {
    plan: &'a HostPlan,
    arrays: Arrays<T>,
    watch: &'a Watch<'a>,
    /// The first tile that nobody has taken.
    next: AtomicUsize,
    /// Somebody has failed.
    stop: AtomicBool,
    done: Mutex<u64>,
}

// SAFETY: the threads read elements of the source, and each writes elements of the destination that no other one writes.
unsafe impl<T: Pod> Sync for Work<'_, T> {}

impl<T: Pod> Work<'_, T> {
    /// Moves tiles, one after the other, through slots of its own, until there are none.
    ///
    /// # Safety
    /// Those of [`Workspace::run`].
    unsafe fn by_one(&self, mut flights: Vec<Flight<'_, T>>) -> Result<()> {
        // SAFETY: the caller's obligations.
        let moved = unsafe { self.all(&mut flights) };
        if moved.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        moved
    }

    /// # Safety
    /// Those of [`Workspace::run`].
    unsafe fn all(&self, flights: &mut [Flight<'_, T>]) -> Result<()> {
        for turn in 0.. {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.plan.schedule.count() || self.stop.load(Ordering::Relaxed) {
                break;
            }
            let slot = turn % flights.len();
            // SAFETY: the caller's obligations.
            unsafe {
                self.land(&mut flights[slot])?;
                let moves = self.plan.schedule.step(number, self.plan.element_bytes)?;
                flights[slot].start(moves, &self.arrays)?;
            }
        }
        for flight in flights {
            // SAFETY: the caller's obligations.
            unsafe { self.land(flight)? };
        }
        Ok(())
    }

    /// Ends what a slot has under way.
    ///
    /// # Safety
    /// Those of [`Workspace::run`].
    unsafe fn land(&self, flight: &mut Flight<'_, T>) -> Result<()> {
        // SAFETY: the caller's obligations.
        let bytes = unsafe { flight.land(&self.arrays)? } * size_of::<T>();
        if bytes > 0 {
            let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *done += bytes as u64;
            let total = (self.plan.schedule.elements() * size_of::<T>()) as u64;
            (self.watch)(Progress { done: *done, total });
        }
        Ok(())
    }
}

/// Waits for all streams when it goes.
pub(super) struct Settled<'a>(pub &'a [Device]);

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        for stream in self.0 {
            // A failure is one of the queued work, which has been reported, or the context is lost; what is lost runs no more.
            let _ = stream.synchronize();
        }
    }
}

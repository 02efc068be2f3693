//! Streams, device memory and pinned memory that calls use again.

use super::budget::ALIGNMENT;
use super::crew::{Crew, Slot};
use super::look_up::LookUp;
use super::pipeline::{Pipeline, Streams};
use super::plan::{HostPlan, Route, Side};
use super::progress::Watch;
use super::staging::Staging;
use super::stretches::Arrays;
use super::{Bus, HostOptions, HostView, HostViewMut};
use crate::device::{Buffer, Device, HostMemory, Registered};
use crate::tensor::TensorLayout;
use crate::{Error, Result};
use bytemuck::Pod;
use std::ptr::NonNull;

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

/// What a driver answers that cannot lock some memory, and goes on: it is of no kind that can be (1), the system does not let it (2, 304, 800,
/// 801), or pages of it are locked already (712), by another call, say, whose arrays begin or end there.
const REFUSALS: [u32; 6] = [1, 2, 304, 712, 800, 801];

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
        let reached = [src.is_reached_by(&self.device), dst.is_reached_by(&self.device)];
        // SAFETY: the views borrow the elements until all work is done, and longer than the locks live.
        let locks = unsafe {
            [
                self.lock(reached[0], src.start(), src.layout())?,
                self.lock(reached[1], dst.start_mut(), dst.layout())?,
            ]
        };
        let sides = (
            Side { layout: src.layout(), pinned: reached[0] || locks[0].is_some() },
            Side { layout: dst.layout(), pinned: reached[1] || locks[1].is_some() },
        );
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let plan = HostPlan::between(sides.0, sides.1, element, &self.options, cores)?;
        self.prepare(&plan, align_of::<T>())?;
        let arrays = Arrays { src: src.start(), dst: dst.start_mut() };
        // SAFETY: the views borrow the elements of the plan's two layouts, one of them exclusively, until all work is done; the plan's
        // memory is there.
        unsafe { self.run(&plan, arrays, watch) }
    }

    /// Locks the pages of a layout's elements, if the options ask for that, they are not pinned, and the system can do it.
    ///
    /// # Safety
    /// The elements lie from `start` on, and stay the program's until the lock is dropped; no work uses them then.
    pub(super) unsafe fn lock<T>(
        &self,
        pinned: bool,
        start: *const T,
        layout: &TensorLayout,
    ) -> Result<Option<Registered>> {
        let range = layout.range();
        let (first, bytes) = (start.wrapping_add(range.start), range.len() * size_of::<T>());
        let Some(first) = NonNull::new(first.cast_mut().cast()) else { return Ok(None) };
        if pinned || !self.options.register || bytes == 0 {
            return Ok(None);
        }
        // SAFETY: the elements of the layout lie in its range, behind `start`; for the rest the caller vouches. Of memory that is borrowed
        // shared, copies to the device only read.
        match unsafe { self.device.register_host(first, bytes) } {
            Err(Error::Cuda { code, .. }) if REFUSALS.contains(&code) => Ok(None),
            lock => lock.map(Some),
        }
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
            None => {
                let memory = self.device.allocate(bytes)?;
                // Kernels load whole vectors, of which the gaps between a tile's rows are parts.
                self.device.fill_zero(&memory)?;
                memory
            }
        };
        let memory = self.memory.insert(memory);
        // The memory's queue is the device's.
        self.streams[..streams].iter().try_for_each(|stream| stream.wait_for(&self.device))?;
        Ok((&self.streams[..streams], memory))
    }

    /// Takes what a plan needs and is not there yet.
    pub(super) fn prepare(&mut self, plan: &HostPlan, align: usize) -> Result<()> {
        let (needed, align) = (plan.ring_bytes(), align.max(ALIGNMENT));
        // What was made for elements of another type may start anywhere for these.
        let serves = |ring: &(HostMemory, usize)| {
            ring.1 >= needed && ring.0.start().addr().get().is_multiple_of(align)
        };
        if needed > 0 && !self.ring.as_ref().is_some_and(serves) {
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
        let _settled = Settled(&self.streams);
        let crew = Crew::new(plan, arrays, watch, self.pipeline(plan)?, self.slots(plan)?);
        // SAFETY: the caller's obligations; `Settled` waits for the streams.
        unsafe { crew.run() }
    }

    /// The device memory of a plan.
    fn pipeline(&self, plan: &HostPlan) -> Result<Pipeline<'_>> {
        let [up, turn, down, ..] = &self.streams[..] else { unreachable!("there are three") };
        // A simulated device does not reach the host's memory.
        let bus = [plan.upload, plan.download].map(|route| match route {
            Route::Direct(bus) if self.device.is_gpu() => bus,
            _ => Bus::Engine,
        });
        let address = self.memory.as_ref().map_or(0, Buffer::address);
        let behind = address + (plan.places.iter().sum::<usize>() * plan.slot_bytes) as u64;
        let looks_up = plan.looks_up && self.device.is_gpu();
        let look_up = looks_up.then(|| LookUp::new(turn, behind));
        let streams = Streams { up, turn, down };
        Pipeline::new(streams, address, plan.slot_bytes, plan.places, bus, look_up)
    }

    /// The host memory of a plan: each slot has its part of the ring, for each side that goes through it.
    fn slots<T: Pod>(&self, plan: &HostPlan) -> Result<Vec<Slot<T>>> {
        let slot = |number: usize| {
            let mut ring = 0;
            let staging = [plan.upload, plan.download].map(|route| {
                let (memory, _) = self.ring.as_ref().filter(|_| route == Route::Ring)?;
                let at = (ring * plan.slots + number) * plan.slot_bytes;
                ring += 1;
                // SAFETY: the ring has a slot for each step under way on each side that goes through it.
                Some(unsafe { memory.start().add(at) }.cast())
            });
            Ok(Slot { staging: Staging(staging), mark: self.device.mark(false)? })
        };
        (0..plan.slots).map(slot).collect()
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

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Cores that come first take some pieces, none or all of them, in the middle of a step too; the device moves the rest.
        #[test]
        fn the_device_and_cores_meet_anywhere(
            rows in 1..700usize,
            cols in 1..700usize,
            tile in 1..200_000usize,
            pinned in any::<[bool; 2]>(),
            first in prop_oneof![0..4usize, 0..60usize, Just(usize::MAX)],
            beside in 0..3usize,
        ) {
            let src: Vec<u32> = (0..rows as u32 * cols as u32).collect();
            let mut dst = vec![!0; src.len()];
            let from = TensorLayout::contiguous(&[rows, cols], 4).unwrap().t();
            let to = TensorLayout::contiguous(&[cols, rows], 4).unwrap();
            let options = HostOptions::default().tile_bytes(4 * tile).threads(2).cpu_threads(1);
            let mut workspace = Workspace::new(&Device::simulated(), options);
            let [src_side, dst_side] = [(&from, pinned[0]), (&to, pinned[1])]
                .map(|(layout, pinned)| Side { layout, pinned });
            let mut plan = HostPlan::between(src_side, dst_side, 4, &options, 4).unwrap();
            plan.cores = beside;
            workspace.prepare(&plan, 4).unwrap();
            let arrays = Arrays { src: src.as_ptr(), dst: dst.as_mut_ptr() };
            let settled = Settled(&workspace.streams);
            let (pipeline, slots) = (workspace.pipeline(&plan).unwrap(), workspace.slots(&plan).unwrap());
            let crew = Crew::new(&plan, arrays, &|_| (), pipeline, slots);
            // SAFETY: both layouts are of memory that nobody else uses, and what the plan needs is there.
            unsafe {
                crew.turn_pieces(first).unwrap();
                crew.run().unwrap();
                // The rest of a slice that they have begun.
                crew.turn_pieces(usize::MAX).unwrap();
            }
            drop(settled);
            let expected = |at: usize| src[at % rows * cols + at / rows];
            prop_assert!((0..dst.len()).all(|at| dst[at] == expected(at)));
        }
    }
}

//! Running an exchange: what is queued on which stream of which device, and in what order.
//!
//! Each shard belongs to the queue of its own device, and the rule of all memory holds here too: *all that uses a buffer is in the order of its
//! home queue*. A stream of the group that is to read or write a shard waits first for a mark behind all that the shard's home has queued. In
//! the end each home waits for a mark behind all that the streams have queued, also if only a part could be; where that cannot be had, the
//! call waits. So nothing outlives the call that could be leaked, and anything may be dropped after it.
//!
//! No stream waits for a mark that is put later, so streams never wait for each other in a circle.

use super::group::{DeviceGroup, Streams};
use super::plan::{ShardedPlan, Step, Way};
use super::staged::{Ferry, ferry};
use super::tensor::{Ends, ShardedTensor};
use crate::device::{self, Device, Mark};
use crate::plan::TensorPlan;
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::Arc;

impl ShardedPlan {
    /// Moves `src` to `dst`, both spread as the plan was made for.
    ///
    /// The work is queued on the devices; reading an array back waits for it. If a device fails while work is queued, what has been queued
    /// on the others goes on, and what comes after is in order with it.
    ///
    /// # Errors
    /// [`Error::GroupMismatch`], [`Error::NotAPermutation`] for arrays of another number of axes, [`Error::TensorShapeMismatch`] and [`Error::PlanMismatch`] for arrays of other shapes, and spread otherwise, [`Error::OutOfMemory`] where pieces are staged, and what the devices report.
    pub fn run<T: Pod>(&self, src: &ShardedTensor<T>, dst: &mut ShardedTensor<T>) -> Result<()> {
        self.group.require_same(src.group())?;
        self.group.require_same(dst.group())?;
        let actual = src.exchange_with(dst, &self.exchange.axes)?;
        if actual != self.exchange || dst.reachable() != self.reachable {
            let (planned, actual) = (self.exchange.to_string(), actual.to_string());
            return Err(Error::PlanMismatch { planned, actual });
        }
        let (src, dst) = (src.ends(), dst.ends());
        let mut order = Order::after(&self.group, &src, &dst)?;
        // SAFETY: the plan was made for arrays that are spread so, their shards without gaps and aligned as allocations are; their memory
        // lives, and `dst` is borrowed exclusively. The order is that of the shards' homes.
        let queued = unsafe { self.queue(&mut order, &src, &dst) };
        queued.and(order.before())
    }

    /// Queues all steps: a step of each device in turn, so that all links are busy soon.
    ///
    /// # Safety
    /// The ends are of arrays that are spread as the plan was made for, which live; nothing else uses the destination, or writes the source,
    /// but what `order` was made after, and what it is finished before.
    unsafe fn queue(&self, order: &mut Order<'_>, src: &Ends<'_>, dst: &Ends<'_>) -> Result<()> {
        let devices = 0..self.group.count();
        let most = |lists: &[Vec<Step>]| lists.iter().map(Vec::len).max().unwrap_or(0);
        let (far, near) = (most(&self.far), most(&self.near));
        let mut one = |device: usize, stream: usize, step: Option<&Step>| match step {
            // SAFETY: the caller's obligations.
            Some(step) => unsafe { queue(order, device, stream, step, src, dst) },
            None => Ok(()),
        };
        for round in 0..far.max(near) {
            for device in devices.clone() {
                one(device, round % self.options.far_streams, self.far[device].get(round))?;
                one(device, NEAR, self.near[device].get(round))?;
            }
        }
        Ok(())
    }
}

/// Queues one step of a device.
///
/// # Safety
/// Those of [`ShardedPlan::queue`].
unsafe fn queue(
    order: &mut Order<'_>,
    device: usize,
    stream: usize,
    step: &Step,
    src: &Ends<'_>,
    dst: &Ends<'_>,
) -> Result<()> {
    let from = src.addresses[device] + step.offsets[0];
    let to = dst.addresses[step.dst] + step.offsets[1];
    match &step.way {
        Way::Direct(plan) => {
            let stream = order.stream(device, stream, [Some(device), Some(step.dst)])?;
            // SAFETY: the caller's obligations; the stream is in order with both shards' homes.
            unsafe { launch(plan, stream, dst.homes[step.dst], [from, to]) }
        }
        Way::Paired { plan, stays } => {
            // Where the destination's own shard is at home: the fewest streams that wait for each other.
            order.stream(device, HOME, [Some(device), Some(step.dst)])?;
            let stream = order.stream(device, HOME, [None, Some(device)])?;
            let own = [src.addresses[device] + stays[0], dst.addresses[device] + stays[1]];
            let steps = plan.steps_of_two(own, [from, to]);
            // SAFETY: the caller's obligations; the stream is in order with the homes of all three shards.
            steps.iter().try_for_each(|step| unsafe { stream.queue(step) })
        }
        Way::Staged { pack, unpack, bytes } => {
            let here = order.stream(device, stream, [Some(device), None])?;
            let there = order.stream(step.dst, NEAR, [None, Some(step.dst)])?;
            let ferry_of = Ferry { here, there, bytes: *bytes };
            // SAFETY: the caller's obligations; each stream is in order with the home of the shard that it uses.
            unsafe {
                ferry(
                    &ferry_of,
                    |packed| launch(pack, here, here, [from, packed]),
                    |arrived| launch(unpack, there, there, [arrived, to]),
                )
            }
        }
    }
}

/// Queues a move whose destination is `peer`'s memory, which `stream`'s device reaches.
///
/// # Safety
/// The addresses are those of arrays that the plan was made for, in live memory, and the stream is in order with all else that uses them.
pub(super) unsafe fn launch(
    plan: &TensorPlan,
    stream: &Device,
    peer: &Device,
    addresses: [u64; 2],
) -> Result<()> {
    plan.steps(addresses).iter().try_for_each(|step| match step {
        // SAFETY: the caller's obligations.
        device::Step::Launch(launch, addresses) => unsafe { stream.launch(launch, *addresses) },
        device::Step::Copy { dst, src, bytes } => {
            // SAFETY: the caller's obligations; two shards do not overlap.
            unsafe { stream.copy_to_peer(peer, *dst, *src, *bytes) }
        }
    })
}

/// The number of a device's stream for what stays; those for what goes come before.
const NEAR: usize = 2;

/// The number of the home of a device's shard of the destination.
const HOME: usize = 3;

/// The order between the homes of shards and the streams that exchange them.
struct Order<'a> {
    streams: &'a [Streams],
    /// Where the source's shards, and the destination's, are at home.
    homes: [&'a [&'a Device]; 2],
    /// Behind what the homes had queued before; one for both shards of a device that are at home in one queue.
    marks: [Vec<Arc<Mark>>; 2],
    /// For each device and each of its streams, which of the marks it has waited for.
    waited: Vec<[Waited; 4]>,
}

/// What a stream has waited for: the shards of either side.
#[derive(Clone, Default)]
struct Waited([Vec<bool>; 2]);

impl<'a> Order<'a> {
    /// An order in which all comes after what the shards' homes have queued so far.
    fn after(group: &'a DeviceGroup, src: &'a Ends<'a>, dst: &'a Ends<'a>) -> Result<Self> {
        let mut of_dst = Vec::with_capacity(group.count());
        let mut of_src = Vec::with_capacity(group.count());
        for (from, to) in src.homes.iter().zip(&dst.homes) {
            let mark = Arc::new(behind(to)?);
            of_src.push(if from.is_same(to) { mark.clone() } else { Arc::new(behind(from)?) });
            of_dst.push(mark);
        }
        let (streams, none) = (group.streams(), vec![false; group.count()]);
        let waited = [(); 4].map(|()| Waited([none.clone(), none.clone()]));
        Ok(Order {
            streams,
            homes: [&src.homes, &dst.homes],
            marks: [of_src, of_dst],
            waited: vec![waited; streams.len()],
        })
    }

    /// A stream of a device, to use the shards that are named of source and destination on.
    fn stream(
        &mut self,
        device: usize,
        stream: usize,
        shards: [Option<usize>; 2],
    ) -> Result<&'a Device> {
        let queue = self.get(device, stream);
        let Waited(waited) = &mut self.waited[device][stream];
        for (side, shard) in shards.into_iter().enumerate() {
            if let Some(shard) = shard.filter(|&shard| !waited[side][shard]) {
                if !queue.is_same(self.homes[side][shard]) {
                    queue.wait_for_mark(&self.marks[side][shard])?;
                }
                waited[side][shard] = true;
            }
        }
        Ok(queue)
    }

    /// The stream of a number.
    fn get(&self, device: usize, stream: usize) -> &'a Device {
        match stream {
            HOME => self.homes[1][device],
            stream => self.streams[device].far.get(stream).unwrap_or(&self.streams[device].near),
        }
    }

    /// Has all that the shards' homes queue from now on come after all that was queued on the streams; or waits for that now.
    fn before(&self) -> Result<()> {
        self.homes_wait().inspect_err(|_| {
            let of_group = self.streams.iter().flat_map(Streams::all);
            for stream in of_group.chain(self.homes[1].iter().copied()) {
                // A failure is one of the queued work, or the context is lost; what is lost runs no more.
                let _ = stream.synchronize();
            }
        })
    }

    /// Marks are put on all devices before any home waits: otherwise each device would be done only after those before it.
    fn homes_wait(&self) -> Result<()> {
        let mut done = Vec::with_capacity(self.waited.len());
        for (device, waited) in self.waited.iter().enumerate() {
            let used = |stream: &usize| waited[*stream].0.iter().flatten().any(|waited| *waited);
            let mut used = (0..waited.len()).rev().filter(used);
            // One of them waits for the others, and all homes for that one.
            let Some(last) = used.next() else { continue };
            let last = self.get(device, last);
            used.try_for_each(|stream| last.wait_for(self.get(device, stream)))?;
            done.push((device, last, behind(last)?));
        }
        for (device, last, mark) in &done {
            let homes = self.homes[1].iter().chain([&self.homes[0][*device]]);
            for home in homes.filter(|home| !home.is_same(last)) {
                home.wait_for_mark(mark)?;
            }
        }
        Ok(())
    }
}

/// A mark behind all that a queue has been given so far.
fn behind(queue: &Device) -> Result<Mark> {
    let mark = queue.mark(false)?;
    queue.put(&mark)?;
    Ok(mark)
}

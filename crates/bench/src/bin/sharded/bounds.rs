//! The same bytes by the driver's copies: from each device to each other at once, and what stays on each; and the clock.

use anyhow::Result;
use bytemuck::Pod;
use cuda_driver::{Context, Driver, Stream};
use std::time::Instant;
use transpose::{DeviceGroup, ShardedTensor};

/// One copy: from, to, bytes.
#[derive(Clone, Copy)]
struct Stretch {
    src: usize,
    dst: usize,
    from: u64,
    to: u64,
    bytes: usize,
}

impl Stretch {
    /// From the start of one device's shard to the start of another's.
    fn new<T: Pod>(
        (source, src): (&ShardedTensor<T>, usize),
        (target, dst): (&ShardedTensor<T>, usize),
        bytes: usize,
    ) -> Self {
        let address = |tensor: &ShardedTensor<T>, device| {
            tensor.shard(device).map_or(0, |shard| shard.device_address())
        };
        Stretch { src, dst, from: address(source, src), to: address(target, dst), bytes }
    }
}

/// A context and a stream of each device; none on the simulator.
fn queues(group: &DeviceGroup) -> Result<Vec<(Context, Stream)>> {
    let ordinals = group.devices().iter().filter_map(|device| device.cuda_ordinal());
    let queue = |ordinal| {
        let context = Context::primary(Driver::get()?.device(ordinal)?)?;
        let stream = Stream::new(&context)?;
        Ok((context, stream))
    };
    ordinals.map(queue).collect()
}

/// What the driver is asked to copy.
pub struct Bounds {
    /// A context and a stream of each device; none on the simulator.
    queues: Vec<(Context, Stream)>,
    /// Turn by turn, as the exchange has it.
    far: Vec<Stretch>,
    near: Vec<Stretch>,
}

impl Bounds {
    /// Copies of as many bytes as an exchange of these moves from device to device, between the same memories.
    pub fn new<T: Pod>(src: &ShardedTensor<T>, dst: &mut ShardedTensor<T>) -> Result<Self> {
        let devices = src.group().count();
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for turn in 0..devices {
            for (from, to) in (0..devices).map(|from| (from, (from + turn) % devices)) {
                let (rows, cols) = (src.shares().range(from).len(), dst.shares().range(to).len());
                let stretch = Stretch::new((src, from), (dst, to), rows * cols * size_of::<T>());
                if stretch.bytes > 0 {
                    if from == to { &mut near } else { &mut far }.push(stretch);
                }
            }
        }
        Ok(Bounds { queues: queues(src.group())?, far, near })
    }

    /// One copy of `bytes` bytes from each device to the next, between the same memories; each of their shards has as many.
    pub fn to_next<T: Pod>(
        src: &ShardedTensor<T>,
        dst: &mut ShardedTensor<T>,
        bytes: usize,
    ) -> Result<Self> {
        let devices = src.group().count();
        let stretch = |from| Stretch::new((src, from), (dst, (from + 1) % devices), bytes);
        let far = (0..devices).map(stretch).collect();
        Ok(Bounds { queues: queues(src.group())?, far, near: Vec::new() })
    }

    /// Queues all copies between devices.
    fn queue_far(&self) -> Result<()> {
        for &Stretch { src, dst, from, to, bytes } in &self.far {
            let (stream, peer) = (&self.queues[src].1, &self.queues[dst].0);
            // SAFETY: both ranges lie in shards that live longer than the race, whose devices reach each other; all is waited for before and
            // after.
            unsafe { stream.copy_to_peer(peer, to, from, bytes) }?;
        }
        Ok(())
    }

    /// Queues all copies inside devices.
    fn queue_near(&self) -> Result<()> {
        for &Stretch { src, from, to, bytes, .. } in &self.near {
            // SAFETY: both ranges lie in shards that live longer than the race; all is waited for before and after.
            unsafe { self.queues[src].1.copy(to, from, bytes) }?;
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.queues.iter().try_for_each(|(_, stream)| stream.synchronize())?)
    }
}

/// Seconds of one exchange, and of its bounds: the medians.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub exchange: f64,
    pub peer: f64,
    pub local: f64,
}

/// How often what is done.
pub struct Rounds<'a> {
    group: &'a DeviceGroup,
    turns: usize,
    reps: usize,
}

impl<'a> Rounds<'a> {
    /// Turns in which each contestant is queued back to back for some tens of milliseconds, if each device sends so many bytes.
    pub fn new(group: &'a DeviceGroup, sent: u64, turns: usize) -> Self {
        let about = sent as f64 / 300e9 + 20e-6;
        Rounds { group, turns, reps: (0.03 / about).clamp(3.0, 300.0) as usize }
    }

    /// The times; `None` on the simulator, where the exchange is done once.
    pub fn race(
        &mut self,
        bounds: &Bounds,
        mut exchange: impl FnMut() -> Result<()>,
    ) -> Result<Option<Times>> {
        exchange()?;
        if bounds.queues.is_empty() {
            return Ok(None);
        }
        let mut times: [Vec<f64>; 3] = Default::default();
        for turn in 0..=self.turns {
            let seconds = [
                self.timed(bounds, &mut exchange)?,
                self.timed(bounds, &mut || bounds.queue_far())?,
                self.timed(bounds, &mut || bounds.queue_near())?,
            ];
            // The first turn warms up.
            if turn > 0 {
                times.iter_mut().zip(seconds).for_each(|(times, seconds)| times.push(seconds));
            }
        }
        let [exchange, peer, local] = times.map(median);
        Ok(Some(Times { exchange, peer, local }))
    }

    /// Seconds of the peer copies alone; `None` on the simulator.
    pub fn peer(&self, bounds: &Bounds) -> Result<Option<f64>> {
        if bounds.queues.is_empty() {
            return Ok(None);
        }
        let times: Result<Vec<f64>> =
            (0..3).map(|_| self.timed(bounds, &mut || bounds.queue_far())).collect();
        Ok(Some(median(times?)))
    }

    /// Seconds of one of many that are queued back to back.
    pub fn timed(&self, bounds: &Bounds, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.wait(bounds)?;
        let start = Instant::now();
        for _ in 0..self.reps {
            work()?;
        }
        self.wait(bounds)?;
        Ok(start.elapsed().as_secs_f64() / self.reps as f64)
    }

    fn wait(&self, bounds: &Bounds) -> Result<()> {
        self.group.synchronize()?;
        bounds.synchronize()
    }
}

/// The median of some numbers; 0 of none.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::Bounds;
    use transpose::{Device, DeviceGroup, ShardedMatrix};

    #[test]
    fn each_device_sends_to_all_others_or_to_the_next() {
        let group = DeviceGroup::new(&Device::simulated_peers(4)).unwrap();
        let src = ShardedMatrix::<u32>::zeroed(&group, 8, 12).unwrap();
        let mut dst = ShardedMatrix::<u32>::zeroed(&group, 12, 8).unwrap();
        let (src, dst) = (src.as_tensor(), dst.as_tensor_mut());
        let all = Bounds::new(src, dst).unwrap();
        assert_eq!((all.far.len(), all.near.len()), (12, 4));
        let next = Bounds::to_next(src, dst, 24).unwrap();
        let pairs: Vec<_> = next.far.iter().map(|stretch| (stretch.src, stretch.dst)).collect();
        assert_eq!(pairs, [(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert!(next.near.is_empty() && next.far.iter().all(|stretch| stretch.bytes == 24));
    }
}

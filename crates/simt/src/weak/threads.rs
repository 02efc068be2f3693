//! What threads tell each other: releases and acquires, fences and barriers.

use std::sync::Arc;

use super::clock::{Clock, join};
use crate::isa::{Fence, Scope};
use crate::registers::{LANES, lanes};

/// Barriers of a block.
const BARRIERS: usize = 16;

/// What a write tells those that acquire it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Releases {
    /// Told to the whole device.
    device: Option<Arc<Clock>>,
    /// Told by threads of a block to that block, whatever their scope was.
    blocks: Vec<(u32, Arc<Clock>)>,
}

fn join_option(into: &mut Option<Arc<Clock>>, other: &Arc<Clock>) {
    match into {
        Some(clock) => join(clock, other),
        None => *into = Some(Arc::clone(other)),
    }
}

impl Releases {
    fn tell(&mut self, block: u32, scope: Scope, clock: &Arc<Clock>) {
        if scope == Scope::Device {
            join_option(&mut self.device, clock);
        }
        match self.blocks.iter_mut().find(|(known, _)| *known == block) {
            Some((_, known)) => join(known, clock),
            None => self.blocks.push((block, Arc::clone(clock))),
        }
    }

    fn of_block(&self, block: u32) -> Option<&Arc<Clock>> {
        self.blocks.iter().find(|(known, _)| *known == block).map(|(_, clock)| clock)
    }

    fn join(&mut self, other: &Releases) {
        other.device.iter().for_each(|clock| join_option(&mut self.device, clock));
        for (block, clock) in &other.blocks {
            self.tell(*block, Scope::Block, clock);
        }
    }
}

/// What one thread knows and has to tell.
#[derive(Clone, Debug)]
struct Thread {
    known: Arc<Clock>,
    epoch: u32,
    /// Told by what its strong loads read, for an acquiring fence to take notice of: in the block's scope, and in the device's.
    heard: [Option<Arc<Clock>>; 2],
    /// Told by its releasing fences to who reads what it stores from then on.
    told: Releases,
}

/// The threads of one block.
#[derive(Debug)]
pub(crate) struct Threads {
    /// The block's number, and the number of its first thread; warps count as whole ones.
    pub block: u32,
    pub first: u32,
    threads: Vec<Thread>,
    /// What barriers have collected from those that came.
    barriers: Vec<Arc<Clock>>,
    /// What `fence.sc` of the block's threads have told each other.
    total: Arc<Clock>,
}

impl Threads {
    pub(crate) fn new(block: u32, warps: u32) -> Threads {
        let nothing = Arc::new(Clock::default());
        let heard = [None, None];
        let thread =
            Thread { known: Arc::clone(&nothing), epoch: 1, heard, told: Releases::default() };
        Threads {
            block,
            first: block * warps * LANES as u32,
            threads: vec![thread; warps as usize * LANES],
            barriers: vec![Arc::clone(&nothing); BARRIERS],
            total: nothing,
        }
    }

    /// What a thread knows of others, and its epoch.
    pub(crate) fn knowledge(&self, thread: u32) -> (Arc<Clock>, u32) {
        let thread = &self.threads[thread as usize];
        (Arc::clone(&thread.known), thread.epoch)
    }

    /// All that a thread did and knows, to be told; what it does next is not in it.
    fn snapshot(&mut self, thread: u32) -> Arc<Clock> {
        let number = self.first + thread;
        let thread = &mut self.threads[thread as usize];
        let mut clock = Arc::clone(&thread.known);
        Arc::make_mut(&mut clock).raise(number, thread.epoch);
        thread.epoch += 1;
        clock
    }

    fn learn(&mut self, thread: u32, clock: &Arc<Clock>) {
        join(&mut self.threads[thread as usize].known, clock);
    }

    /// What a strong store tells: what the thread's fences told, what it releases by itself, and what a read-modify-write passes on.
    pub(crate) fn releases(
        &mut self,
        thread: u32,
        scope: Option<Scope>,
        passed_on: Option<&Releases>,
    ) -> Option<Arc<Releases>> {
        let mut all = self.threads[thread as usize].told.clone();
        if let Some(scope) = scope {
            let clock = self.snapshot(thread);
            all.tell(self.block, scope, &clock);
        }
        passed_on.into_iter().for_each(|releases| all.join(releases));
        (!all.blocks.is_empty()).then(|| Arc::new(all))
    }

    /// A strong load read what tells this.
    pub(crate) fn hear(&mut self, thread: u32, releases: &Releases, acquire: Option<Scope>) {
        let to_block = releases.of_block(self.block);
        if let Some(scope) = acquire {
            let to_device = releases.device.as_ref().filter(|_| scope == Scope::Device);
            for clock in [to_block, to_device].into_iter().flatten() {
                self.learn(thread, clock);
            }
        }
        let [in_block, on_device] = &mut self.threads[thread as usize].heard;
        if let Some(clock) = to_block {
            join_option(in_block, clock);
            join_option(on_device, clock);
        }
        releases.device.iter().for_each(|clock| join_option(on_device, clock));
    }

    /// A thread executes a fence; `total` is what `fence.sc` have told on the device.
    pub(crate) fn fence(&mut self, thread: u32, fence: Fence, total: &mut Arc<Clock>) {
        if fence.acquire {
            let [in_block, on_device] = &self.threads[thread as usize].heard;
            let heard = if fence.scope == Scope::Device { on_device } else { in_block };
            if let Some(clock) = heard.clone() {
                self.learn(thread, &clock);
            }
        }
        if fence.total {
            self.learn(thread, &Arc::clone(&self.total));
            if fence.scope == Scope::Device {
                self.learn(thread, total);
            }
        }
        if !fence.release {
            return;
        }
        let clock = self.snapshot(thread);
        self.threads[thread as usize].told.tell(self.block, fence.scope, &clock);
        if fence.total {
            join(&mut self.total, &clock);
            if fence.scope == Scope::Device {
                join(total, &clock);
            }
        }
    }

    /// Lanes of a warp come to a barrier.
    pub(crate) fn arrive(&mut self, warp: u32, mask: u32, barrier: usize) {
        for lane in lanes(mask) {
            let clock = self.snapshot(warp * LANES as u32 + lane as u32);
            join(&mut self.barriers[barrier], &clock);
        }
    }

    /// Lanes of a warp that came to a barrier pass it.
    pub(crate) fn pass(&mut self, warp: u32, mask: u32, barrier: usize) {
        let clock = Arc::clone(&self.barriers[barrier]);
        for lane in lanes(mask) {
            self.learn(warp * LANES as u32 + lane as u32, &clock);
        }
    }

    /// A barrier is closed again.
    pub(crate) fn close(&mut self, barrier: usize) {
        self.barriers[barrier] = Arc::default();
    }

    /// Lanes of a warp wait for each other.
    pub(crate) fn synchronise_warp(&mut self, warp: u32, mask: u32) {
        let mut all = Arc::default();
        let thread = |lane: usize| warp * LANES as u32 + lane as u32;
        for lane in lanes(mask) {
            let clock = self.snapshot(thread(lane));
            join(&mut all, &clock);
        }
        for lane in lanes(mask) {
            self.learn(thread(lane), &all);
        }
    }
}

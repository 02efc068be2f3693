//! Runs a launch's blocks, on all cores where there is enough to do.
//!
//! Workers take blocks in order of their number, a few at a time, so that blocks
//! start as they would on a GPU: a block may wait for an earlier one. What a
//! worker needs for a block it keeps for the next.

use std::sync::Mutex;

use crate::Error;
use crate::cta::Cta;
use crate::done::Done;
use crate::findings::{Fault, Finding};
use crate::launch::Launch;
use crate::memory::lock;
use crate::options::Options;
use crate::registers::LANES;
use crate::tickets::Tickets;
use crate::warp::Warp;
use crate::watch::Watch;

/// Blocks a worker takes at a time, at most.
const LARGEST_CHUNK: u64 = 64;

/// The registers of all workers take at most so much memory; a kernel that has too many runs on fewer cores. No block has more.
const MOST_REGISTER_BYTES: u64 = 1 << 30;

/// Threads of a launch for each worker, at least, unless it has atomics, by which its blocks may wait for each other. What has fewer is done before it is shared out: the tests of arithmetic and of permutations, two
/// at a time on two cores, take 0.6 of the time that they take by two workers each.
const LEAST_THREADS: u64 = 1 << 15;

/// Bytes of the registers of one worker.
fn register_bytes(launch: &Launch<'_>) -> u64 {
    let program = launch.program;
    let words = program.words.len() + 2 * program.doubles.len();
    let warps = launch.threads.div_ceil(LANES as u32);
    (4 * LANES * words + 4 * program.predicates) as u64 * u64::from(warps)
}

/// What the workers share.
struct Queue<'a> {
    launch: &'a Launch<'a>,
    blocks: Tickets<Box<Finding>>,
    options: &'a Options,
}

/// Runs all blocks of a launch.
pub(crate) fn run(launch: &Launch<'_>, options: &Options) -> Result<Done, Error> {
    let fit = MOST_REGISTER_BYTES / register_bytes(launch).max(1);
    let may_talk = !launch.program.atomics.is_empty();
    let threads = launch.blocks.saturating_mul(u64::from(launch.threads));
    let shares = if may_talk { launch.blocks } else { threads / LEAST_THREADS };
    let most = (rayon::current_num_threads() as u64).min(launch.blocks);
    let workers = most.min(shares).min(fit).max(1);
    let chunk = (launch.blocks / (8 * workers)).clamp(1, LARGEST_CHUNK);
    let queue = Queue { launch, blocks: Tickets::new(launch.blocks, chunk), options };
    let done = Mutex::new(Done::new(launch));
    let work = || {
        let part = queue.work();
        lock(&done).merge(part);
    };
    if workers == 1 {
        work();
    } else {
        rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work())));
    }
    let done = std::mem::take(&mut *lock(&done));
    match queue.blocks.first_fault() {
        None => Ok(done),
        Some(finding) => {
            let earlier = done.findings.into_sorted();
            Err(Error::Fault(Box::new(Fault { finding: *finding, earlier })))
        }
    }
}

impl Queue<'_> {
    /// Runs blocks, in order, until none is left.
    fn work(&self) -> Done {
        let mut cta = Cta::new(self.launch);
        let watch = Watch::new(self.launch, self.options);
        let count = self.launch.threads.div_ceil(LANES as u32);
        let mut warps: Vec<Warp> = (0..count).map(|index| Warp::new(&cta, index)).collect();
        cta.watch = watch.is_needed().then(|| Box::new(watch));
        while let Some(blocks) = self.blocks.take() {
            if blocks.clone().any(|block| !self.run_block(&mut cta, &mut warps, block)) {
                break;
            }
            let done = self.blocks.note(blocks);
            if let Some(progress) = &self.options.progress {
                progress.call(done, self.launch.blocks);
            }
        }
        let (tally, trace) = cta.watch.map_or((None, None), |watch| (watch.tally, watch.trace));
        Done { findings: cta.findings, tally, trace }
    }

    /// Runs one block unless an earlier one has failed; says whether it ran.
    fn run_block(&self, cta: &mut Cta<'_>, warps: &mut [Warp], block: u64) -> bool {
        if self.blocks.is_moot(block) {
            return false;
        }
        let index = self.launch.block_index(block);
        let watched = cta.watch.as_ref().is_some_and(|watch| watch.cares_about(index));
        let result = if watched {
            cta.run::<true>(warps, block)
        } else {
            let idle = cta.watch.take();
            let result = cta.run::<false>(warps, block);
            cta.watch = idle;
            result
        };
        if let Err(finding) = result {
            self.blocks.fail(block, finding);
        }
        true
    }
}

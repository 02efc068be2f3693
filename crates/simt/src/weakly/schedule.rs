//! Runs the blocks of a launch by turns, on one host thread, every choice from one seed.

use std::cell::RefCell;
use std::rc::Rc;

use crate::Error;
use crate::cta::Cta;
use crate::done::Done;
use crate::findings::{Fault, Finding};
use crate::launch::Launch;
use crate::options::Options;
use crate::registers::LANES;
use crate::warp::{Pause, Warp};
use crate::watch::Watch;
use crate::weak::{Common, Weak};

/// Blocks that run at a time, at most.
const RESIDENT: u64 = 128;
/// The longest turns of a warp, in instructions; each is as likely.
const TURNS: [usize; 4] = [1, 2, 8, 64];

/// A block that runs.
struct Resident<'k> {
    cta: Cta<'k>,
    warps: Vec<Warp>,
    /// Warps that have not ended.
    left: usize,
}

/// Runs all blocks of a launch.
pub(crate) fn run(launch: &Launch<'_>, options: &Options, seed: u64) -> Result<Done, Error> {
    let common =
        Rc::new(RefCell::new(Common::new(seed, u64::from(launch.program.narrowest_element()))));
    let mut next = 0;
    let mut residents: Vec<Resident<'_>> = Vec::new();
    let mut done = Done::new(launch);
    while next < launch.blocks.min(RESIDENT) {
        let mut resident = Resident::new(launch, options);
        resident.begin(&common, next);
        residents.push(resident);
        next += 1;
    }
    while !residents.is_empty() {
        let at = common.borrow_mut().random.below(residents.len());
        let resident = &mut residents[at];
        if let Err(finding) = resident.turn(&common) {
            residents.into_iter().for_each(|resident| done.merge(resident.end()));
            let earlier = done.findings.into_sorted();
            return Err(Error::Fault(Box::new(Fault { finding: *finding, earlier })));
        }
        if resident.left > 0 {
            continue;
        }
        if next < launch.blocks {
            resident.begin(&common, next);
            next += 1;
        } else {
            done.merge(residents.swap_remove(at).end());
        }
        if let Some(progress) = &options.progress {
            progress.call(next - residents.len() as u64, launch.blocks);
        }
    }
    Ok(done)
}

impl<'k> Resident<'k> {
    fn new(launch: &'k Launch<'k>, options: &Options) -> Resident<'k> {
        let mut cta = Cta::new(launch);
        let count = launch.threads.div_ceil(LANES as u32);
        let warps = (0..count).map(|index| Warp::new(&cta, index)).collect();
        let watch = Watch::new(launch, options);
        cta.watch = watch.is_needed().then(|| Box::new(watch));
        Resident { cta, warps, left: 0 }
    }

    fn begin(&mut self, common: &Rc<RefCell<Common>>, block: u64) {
        self.cta.begin::<true>(&mut self.warps, block);
        self.left = self.warps.len();
        self.cta.weak = Some(Box::new(Weak::new(common, block, self.warps.len())));
    }

    /// Runs one warp for a few instructions.
    fn turn(&mut self, common: &Rc<RefCell<Common>>) -> Result<(), Box<Finding>> {
        let (first, turn) = {
            let random = &mut common.borrow_mut().random;
            let longest = TURNS[random.below(TURNS.len())];
            (random.below(self.warps.len()), 1 + random.below(longest))
        };
        let count = self.warps.len();
        let found =
            (0..count).map(|step| (first + step) % count).find(|at| self.warps[*at].can_run());
        let Some(at) = found else { return self.cta.resolve_deadlock(&mut self.warps) };
        if self.warps[at].run::<true>(&mut self.cta, turn as u32)? == Pause::Done {
            self.left -= 1;
        }
        self.cta.open_barriers(&mut self.warps);
        Ok(())
    }

    fn end(self) -> Done {
        let (tally, trace) =
            self.cta.watch.map_or((None, None), |watch| (watch.tally, watch.trace));
        Done { findings: self.cta.findings, tally, trace }
    }
}

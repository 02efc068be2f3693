//! An exchange between processes whose devices reach each other's memory: what [`ShardedPlan`](crate::ShardedPlan) does in one process. No
//! bytes are packed, and no stream waits for another process's: the processes tell each other when their destinations are ready, and when
//! all is stored.

use super::exchange::DistributedPlan;
use crate::device::Device;
use crate::sharded::plan::{Step, Way};
use crate::sharded::run::launch;
use crate::{Error, Result};

impl DistributedPlan {
    /// Queues all that this process stores, on its own device and on others.
    ///
    /// # Safety
    /// `src` is the address of a shard that the plan was made for, and `dst` those of all processes' shards of the destination, by rank, all in
    /// live memory that this process's device reaches. Nothing else uses the destinations until all processes have stored; nothing writes the
    /// source but what its home has queued so far.
    pub(super) unsafe fn store(&self, src: u64, dst: &[u64], homes: [&Device; 2]) -> Result<()> {
        let [far, near] = [&self.streams.pack, &self.streams.near];
        for home in homes {
            far.wait_for(home)?;
            near.wait_for(home)?;
        }
        let [sent, kept] = &self.stored;
        let all = sent.iter().map(|step| (far, step)).chain(kept.iter().map(|step| (near, step)));
        for (stream, step) in all {
            // SAFETY: the caller's obligations; the stream is in order with this process's homes.
            unsafe { self.store_step(stream, step, src, dst)? };
        }
        Ok(())
    }

    /// # Safety
    /// Those of [`store`](Self::store).
    unsafe fn store_step(&self, stream: &Device, step: &Step, src: u64, dst: &[u64]) -> Result<()> {
        let place = |rank: usize| {
            let gone = || Error::Peer { rank, reason: "its memory is not reached".to_owned() };
            dst.get(rank).copied().ok_or_else(gone)
        };
        let ends = [src + step.offsets[0], place(step.dst)? + step.offsets[1]];
        match &step.way {
            // SAFETY: the caller's obligations.
            Way::Direct(plan) => unsafe { launch(plan, stream, stream, ends) },
            Way::Paired { plan, stays } => {
                let own = [src + stays[0], place(self.rank())? + stays[1]];
                // SAFETY: likewise.
                plan.steps_of_two(own, ends)
                    .iter()
                    .try_for_each(|step| unsafe { stream.queue(step) })
            }
            Way::Staged { .. } => {
                Err(Error::World { reason: "a plan to store stages nothing".to_owned() })
            }
        }
    }
}

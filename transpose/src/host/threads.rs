//! Work that several threads share, each taking some of it until there is none.

use crate::Result;
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Has `threads` threads do the work, of which the caller's is one; fewer, where the system has no more. The first error that is found is the
/// answer, once all of them have ended.
pub(super) fn together(threads: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    scope(|scope| {
        // Whoever is there does the work of those who are not.
        let others = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, &work).ok());
        let others: Vec<_> = others.collect();
        let mut ended = work();
        for other in others {
            ended = ended.and(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        ended
    })
}

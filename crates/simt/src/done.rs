//! What those who run blocks bring back.

use crate::counters::Tally;
use crate::launch::Launch;
use crate::report::Findings;
use crate::trace::Trace;

/// What those who run blocks bring back.
#[derive(Default)]
pub(crate) struct Done {
    pub findings: Findings,
    pub tally: Option<Tally>,
    pub trace: Option<Trace>,
}

impl Done {
    pub(crate) fn new(launch: &Launch<'_>) -> Done {
        Done { findings: Findings::new(launch.findings_limit), ..Done::default() }
    }

    pub(crate) fn merge(&mut self, other: Done) {
        self.findings.merge(other.findings);
        match (&mut self.tally, other.tally) {
            (Some(mine), Some(other)) => mine.merge(other),
            (mine, other) => *mine = mine.take().or(other),
        }
        // Only the worker that ran the traced block has events.
        let better = |trace: &Trace| !trace.events.is_empty() || self.trace.is_none();
        if let Some(trace) = other.trace.filter(better) {
            self.trace = Some(trace);
        }
    }
}

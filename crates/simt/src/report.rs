//! What a launch returns.

use serde::Serialize;

use crate::counters::CounterReport;
use crate::findings::{Finding, FindingKind};
use crate::global_check::Writes;
use crate::trace::Trace;

/// What a launch did and what was found.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Blocks executed.
    pub blocks: u64,
    /// Defects found, in order of the block they were first seen in.
    pub findings: Vec<Finding>,
    /// Occurrences of further defects, beyond [`Options::findings_limit`](crate::Options::findings_limit).
    pub findings_omitted: u64,
    /// What was counted, if [`Options::counters`](crate::Options::counters) asked for it.
    pub counters: Option<CounterReport>,
    /// The accesses of one block, if [`Options::trace`](crate::Options::trace) asked for them.
    pub trace: Option<Trace>,
    /// Which bytes of global memory were written, if
    /// [`Checks::record_writes`](crate::Checks::record_writes) asked for it.
    #[serde(skip)]
    pub writes: Option<Writes>,
}

/// What makes two findings the same defect: kind, line, the other thread's line.
type Key = (FindingKind, u32, Option<u32>);

fn key_of(finding: &Finding) -> Key {
    (finding.kind, finding.site.line, finding.other.map(|other| other.line))
}

/// Findings of one worker: one per kind and line, with the first block it was seen in.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<(u64, Finding)>,
    limit: usize,
    pub(crate) omitted: u64,
}

impl Findings {
    pub(crate) fn new(limit: usize) -> Findings {
        Findings { limit, ..Findings::default() }
    }

    /// Counts a defect that need not be described: it is known from this block or
    /// an earlier one, or there is no room for it. Says whether that is so.
    pub(crate) fn repeats(&mut self, block: u64, key: Key) -> bool {
        let full = self.list.len() >= self.limit;
        let known = self.list.iter_mut().find(|(_, known)| key_of(known) == key);
        match known {
            Some((first, known)) if *first <= block => known.occurrences += 1,
            None if full => self.omitted += 1,
            _ => return false,
        }
        true
    }

    /// Adds a finding of block `block`, or counts it with another of its kind and line.
    pub(crate) fn add(&mut self, block: u64, finding: Finding) {
        let key = key_of(&finding);
        match self.list.iter_mut().find(|(_, known)| key_of(known) == key) {
            Some((first, known)) => {
                let occurrences = known.occurrences + finding.occurrences;
                if block < *first {
                    *first = block;
                    *known = finding;
                }
                known.occurrences = occurrences;
            }
            None => self.push(block, finding),
        }
    }

    fn push(&mut self, block: u64, finding: Finding) {
        if self.list.len() < self.limit {
            self.list.push((block, finding));
        } else {
            self.omitted += finding.occurrences;
        }
    }

    /// Adds what another worker found.
    pub(crate) fn merge(&mut self, other: Findings) {
        self.omitted += other.omitted;
        other.list.into_iter().for_each(|(block, finding)| self.add(block, finding));
    }

    /// The findings, in order of block.
    pub(crate) fn into_sorted(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|(block, finding)| (*block, finding.site.line, finding.kind));
        self.list.into_iter().map(|(_, finding)| finding).collect()
    }
}

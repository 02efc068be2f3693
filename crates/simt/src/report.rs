//! What a launch returns.

use crate::findings::Finding;
use serde::Serialize;

/// What a launch did and what was found.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Blocks executed.
    pub blocks: u64,
    /// Defects found, in order of the block they were first seen in.
    pub findings: Vec<Finding>,
    /// Distinct defects beyond [`Options::findings_limit`](crate::Options::findings_limit).
    pub findings_omitted: u64,
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

    /// Adds a finding of block `block`, or counts it with an earlier one of its kind and line.
    pub(crate) fn add(&mut self, block: u64, finding: Finding) {
        let same = |(_, known): &(u64, Finding)| {
            known.kind == finding.kind
                && known.site.line == finding.site.line
                && known.other.map(|other| other.line) == finding.other.map(|other| other.line)
        };
        match self.list.iter().position(same) {
            Some(at) => {
                let (first, known) = &mut self.list[at];
                let occurrences = known.occurrences + finding.occurrences;
                if block < *first {
                    *first = block;
                    *known = finding;
                }
                known.occurrences = occurrences;
            }
            None if self.list.len() < self.limit => self.list.push((block, finding)),
            None => self.omitted += 1,
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

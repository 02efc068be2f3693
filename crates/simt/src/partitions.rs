//! Which parts of global memory the blocks that run together keep busy.
//!
//! Global memory is spread over *partitions*, each with a controller of its
//! own: bytes go to partition 0 for the first `width` bytes, to partition 1 for
//! the next, and around. On GPUs that do not hash addresses (NVIDIA's 8- and
//! 10-series) blocks that run at the same time and all write to one partition
//! queue up there while the others idle: *partition camping*.
//!
//! Which blocks run together is modelled plainly: the first S blocks in order
//! of their number form a set, the next S another, and so on.

use std::collections::BTreeMap;

use serde::Serialize;

/// How memory is divided, and how many blocks run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionModel {
    /// Partitions; from 1 to 1024.
    pub count: u32,
    /// Bytes that go to one partition before the next has its turn; a power of two.
    pub width: u32,
    /// Blocks in a set; not zero.
    pub concurrent_blocks: u64,
    /// Sets to keep apart; later ones are not counted.
    pub sets: usize,
}

impl PartitionModel {
    /// NVIDIA's GTX 280, of the paper on the matrix transpose: eight partitions
    /// of 256 bytes, and 30 multiprocessors with a block each.
    pub const GTX_280: PartitionModel =
        PartitionModel { count: 8, width: 256, concurrent_blocks: 30, sets: 4096 };
}

/// Sectors moved per partition by one set of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionSet {
    /// Number of the first block of the set.
    pub first_block: u64,
    /// Sectors loaded, by partition.
    pub loads: Vec<u64>,
    /// Sectors stored (atomics too), by partition.
    pub stores: Vec<u64>,
}

/// Traffic by partition and set of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionReport {
    /// The division of memory.
    pub model: PartitionModel,
    /// The sets, in order.
    pub sets: Vec<PartitionSet>,
    /// Sectors of sets beyond [`PartitionModel::sets`].
    pub not_counted: u64,
}

impl PartitionReport {
    /// How many partitions do the work of a set's loads, averaged over sets and
    /// weighted by traffic: all of them if it is spread evenly, 1 if it camps on
    /// one. `None` without loads.
    pub fn busy_for_loads(&self) -> Option<f64> {
        busy(self.sets.iter().map(|set| &set.loads[..]))
    }

    /// The same for stores.
    pub fn busy_for_stores(&self) -> Option<f64> {
        busy(self.sets.iter().map(|set| &set.stores[..]))
    }
}

/// Total traffic over the traffic of each set's busiest partition, which is what
/// the set has to wait for.
fn busy<'a>(sets: impl Iterator<Item = &'a [u64]>) -> Option<f64> {
    let add = |(all, busiest): (u64, u64), set: &[u64]| {
        (all + set.iter().sum::<u64>(), busiest + set.iter().max().copied().unwrap_or(0))
    };
    let (all, busiest) = sets.fold((0, 0), add);
    (busiest > 0).then(|| all as f64 / busiest as f64)
}

/// The counts of one worker.
#[derive(Debug)]
pub(crate) struct Partitions {
    model: PartitionModel,
    /// By number of the set: loads, then stores.
    sets: BTreeMap<u64, Vec<u64>>,
    current: Vec<u64>,
    current_set: u64,
    not_counted: u64,
}

impl Partitions {
    pub(crate) fn new(model: PartitionModel) -> Partitions {
        Partitions {
            model,
            sets: BTreeMap::new(),
            current: vec![0; 2 * model.count as usize],
            current_set: 0,
            not_counted: 0,
        }
    }

    pub(crate) fn begin_block(&mut self, block: u64) {
        let set = block / self.model.concurrent_blocks;
        if set != self.current_set {
            self.put_away();
            self.current_set = set;
        }
    }

    pub(crate) fn count(&mut self, stores: bool, sector: u64) {
        let count = u64::from(self.model.count);
        let partition = sector / u64::from(self.model.width) % count;
        self.current[(partition + if stores { count } else { 0 }) as usize] += 1;
    }

    /// Adds the counts at hand to those of their set.
    fn put_away(&mut self) {
        let sectors: u64 = self.current.iter().sum();
        if self.current_set >= self.model.sets as u64 {
            self.not_counted += sectors;
        } else if sectors > 0 {
            let zero = || vec![0; self.current.len()];
            let set = self.sets.entry(self.current_set).or_insert_with(zero);
            set.iter_mut().zip(&self.current).for_each(|(all, new)| *all += new);
        }
        self.current.fill(0);
    }

    pub(crate) fn merge(&mut self, mut other: Partitions) {
        self.put_away();
        other.put_away();
        self.not_counted += other.not_counted;
        for (number, counts) in other.sets {
            let zero = || vec![0; counts.len()];
            let set = self.sets.entry(number).or_insert_with(zero);
            set.iter_mut().zip(&counts).for_each(|(all, new)| *all += new);
        }
    }

    pub(crate) fn into_report(mut self) -> PartitionReport {
        self.put_away();
        let count = self.model.count as usize;
        let set = |(number, counts): (u64, Vec<u64>)| PartitionSet {
            first_block: number * self.model.concurrent_blocks,
            loads: counts[..count].to_vec(),
            stores: counts[count..].to_vec(),
        };
        PartitionReport {
            model: self.model,
            sets: self.sets.into_iter().map(set).collect(),
            not_counted: self.not_counted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: PartitionModel =
        PartitionModel { count: 8, width: 256, concurrent_blocks: 2, sets: 2 };

    #[test]
    fn sets_are_kept_apart_and_merged_across_workers() {
        let (mut a, mut b) = (Partitions::new(MODEL), Partitions::new(MODEL));
        for (worker, block, sector) in [(0, 0, 0), (1, 1, 256), (0, 2, 2048), (1, 3, 32), (0, 4, 0)]
        {
            let worker = if worker == 0 { &mut a } else { &mut b };
            worker.begin_block(block);
            worker.count(false, sector);
            worker.count(true, 7 * 256);
        }
        a.merge(b);
        let report = a.into_report();
        assert_eq!(report.not_counted, 2, "the third set is one too many");
        assert_eq!(report.sets.iter().map(|set| set.first_block).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(report.sets[0].loads, [1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(report.sets[1].loads, [2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(report.sets[0].stores, [0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(report.busy_for_stores(), Some(1.0));
        assert_eq!(report.busy_for_loads(), Some(4.0 / 3.0));
    }
}

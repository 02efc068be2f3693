//! A launch, as plain data: what a plan asks a device to run.

use crate::kernels::Entry;

/// The most words that a kernel takes after its two addresses.
pub(crate) const MAX_WORDS: usize = 14;

/// One kernel over one grid.
///
/// Every kernel takes two addresses, which are known only when a plan is run (source and
/// destination, or matrix and scratch memory), and then 64-bit words, which the plan knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub entry: Entry,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory in bytes beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// How many blocks a multiprocessor should run at a time; 0 for as many as fit. Changes no result.
    pub at_once: u32,
    /// Whether blocks wait for each other: the device runs all of them at a time, or refuses the launch.
    pub cooperative: bool,
    /// Whether the L2 cache should rather give up what is stored than what is loaded. Changes no result.
    pub evict_last: bool,
    /// Bytes from the start of each of the two memories to where this launch starts.
    pub offsets: [u64; 2],
    pub words: Words,
}

/// What a kernel takes after its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    words: [u64; MAX_WORDS],
    len: usize,
}

impl Words {
    /// The words of `shape`, then those of `more`; together no more than [`MAX_WORDS`].
    pub fn new(shape: &[u64], more: &[u64]) -> Self {
        let mut words = [0; MAX_WORDS];
        let len = shape.len() + more.len();
        words[..shape.len()].copy_from_slice(shape);
        words[shape.len()..len].copy_from_slice(more);
        Words { words, len }
    }
}

impl<const N: usize> From<[u64; N]> for Words {
    fn from(given: [u64; N]) -> Self {
        const { assert!(N <= MAX_WORDS) };
        let mut words = [0; MAX_WORDS];
        words[..N].copy_from_slice(&given);
        Words { words, len: N }
    }
}

impl std::ops::Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

impl Launch {
    /// All of a kernel's arguments: the two addresses and the words.
    pub fn arguments(&self, addresses: [u64; 2]) -> impl Iterator<Item = u64> + '_ {
        let addresses = [addresses[0] + self.offsets[0], addresses[1] + self.offsets[1]];
        addresses.into_iter().chain(self.words.iter().copied())
    }
}

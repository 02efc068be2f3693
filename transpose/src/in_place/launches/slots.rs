//! Super-elements that move along cycles, by whichever kernel suits their length and the cycles'.

use super::{WORD, flag_bytes, launch};
use crate::divide::divisor32;
use crate::divide::gcd;
use crate::facts::Facts;
use crate::in_place::cycles::cycle;
use crate::in_place::options::{Carry, InPlaceOptions};
use crate::kernels::{Width, width_dividing};
use crate::launch::Launch;
use kernel_abi::Kernel;
use kernel_abi::in_place::{
    self as abi, CARRY, LEADERS, LEADERS_SHORT, MOST_BYTES, MOVING_THREADS, PERMUTE, PERMUTE_BYTES,
    PERMUTE_SHORT, PERMUTE_SHORTEST,
};

/// Cycles up to this length are short: a lane may walk them to find their lowest place.
const SHORT_CYCLE: usize = 64;

/// Cycles that a multiprocessor should have, if each is moved by one warp.
const CYCLES_EACH: usize = 128;

/// Bytes of the shortest chunks that are moved by words though they start anywhere.
const LEAST_BYTES: usize = 48;

/// The length of the longest cycle, if it is short. As those of squares and of powers of two are. The
/// cycle of offset 1 is the longest: the lengths of the others divide its length.
fn short_cycle(rows: usize, cols: usize) -> Option<usize> {
    let length = cycle(1, rows, cols).take(SHORT_CYCLE + 1).count();
    (length <= SHORT_CYCLE).then_some(length)
}

/// A number near the golden section of `count` without a common divisor with it: its multiples
/// modulo `count` are all numbers below, in an order that is spread evenly and has no pattern.
fn scramble(count: usize) -> usize {
    let near = (count as f64 * 0.618_033_988_75) as usize;
    (near.max(1)..).find(|&number| gcd(number, count) == 1).unwrap_or(1)
}

/// Slots that move along the cycles of their transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub rows: usize,
    pub cols: usize,
    /// Elements of a slot.
    pub length: usize,
    /// Slots between two gaps.
    pub period: usize,
    /// Elements left out after every period.
    pub gap: usize,
    pub instances: usize,
}

impl Slots {
    /// The most bytes of a chunk that starts anywhere in a word.
    pub const MOST_BYTES: usize = MOST_BYTES as usize;

    /// Slots without a gap.
    pub fn dense(rows: usize, cols: usize, length: usize, instances: usize) -> Self {
        Slots { rows, cols, length, period: 1, gap: 0, instances }
    }

    /// Why no kernel moves the slots, if none does.
    pub fn refusal(
        &self,
        element_bytes: usize,
        facts: &Facts,
        options: &InPlaceOptions,
    ) -> Option<&'static str> {
        let (words, width) = self.in_words(element_bytes);
        // The kernels count both in 32 bits.
        if self.rows.saturating_mul(self.cols) >= 1 << 31 || words.length.max(words.gap) >= 1 << 31
        {
            return Some("there are 2³¹ super-elements, or words of one, or more");
        }
        let carried = options.carry == Carry::SharedMemory;
        (carried && words.carried_chunk(width, facts, options) == 0)
            .then_some("two words of a super-element do not fit on chip")
    }

    /// The launch, and the bytes of the flags, for slots that are not refused.
    pub fn launch(
        &self,
        element_bytes: usize,
        facts: &Facts,
        options: &InPlaceOptions,
    ) -> (Launch, usize) {
        let (words, width) = self.in_words(element_bytes);
        if options.carry == Carry::SharedMemory {
            words.through_shared_memory(width, facts, options)
        } else if words.has_many_short_cycles(width, facts) {
            (words.by_leaders(width, facts), 0)
        } else {
            words.through_registers(width, facts)
        }
    }

    /// The slots with words for elements. The kernels move bytes: the widest words that fit slots and gaps.
    fn in_words(&self, element_bytes: usize) -> (Slots, Width) {
        let width = width_dividing([self.length, self.gap].map(|n| n * element_bytes));
        let words = |elements| elements * element_bytes / width.bytes();
        (Slots { length: words(self.length), gap: words(self.gap), ..*self }, width)
    }

    /// Whether one warp to a cycle leaves nobody idle.
    fn has_many_short_cycles(&self, width: Width, facts: &Facts) -> bool {
        let units = self.units(self.chunks(width).0);
        let many = |length| units / length >= CYCLES_EACH * facts.multiprocessors;
        units < 1 << 31 && short_cycle(self.rows, self.cols).is_some_and(many)
    }

    /// The chunks that a slot of so many words is cut into for the registers of a warp, and the words
    /// of one.
    fn chunks(&self, width: Width) -> (usize, usize) {
        let most = 32 * lane_words(width);
        let chunks = self.length.div_ceil(most);
        let chunk = self.length.div_ceil(chunks);
        let chunk = if chunks > 1 { chunk.next_multiple_of(32) } else { chunk };
        (self.length.div_ceil(chunk), chunk)
    }

    /// Long cycles, a flag to each chunk, where slots start anywhere in a word: the kernel counts bytes.
    fn by_bytes(&self, width: Width, facts: &Facts) -> Option<(Launch, usize)> {
        let bytes =
            |words: usize| words.checked_mul(width.bytes()).filter(|&bytes| bytes < 1 << 31);
        let (length, gap) = (bytes(self.length)?, bytes(self.gap)?);
        let chunk = length.div_ceil(length.div_ceil(Self::MOST_BYTES).max(1));
        let chunks = length.div_ceil(chunk.max(1));
        // The last one may be shorter, by as many bytes as there are chunks.
        let last = length - chunks.saturating_sub(1) * chunk;
        if width.bytes() >= WORD || last < LEAST_BYTES {
            return None;
        }
        let slots = Slots { length, gap, ..*self };
        let units = slots.units(chunks);
        let threads = if facts.in_turn { 32 } else { MOVING_THREADS as usize };
        let most = if facts.in_turn { 1 } else { 4 * facts.multiprocessors };
        let blocks = units.div_ceil(threads / 8).clamp(1, most);
        let blocks = [blocks, threads, 0];
        let launch = slots.moving(&PERMUTE_BYTES, Width::B1, blocks, (chunks, chunk));
        Some((launch, flag_bytes(units)))
    }

    /// Long cycles, a flag to each chunk.
    fn through_registers(&self, width: Width, facts: &Facts) -> (Launch, usize) {
        if let Some(launch) = self.by_bytes(width, facts) {
            return launch;
        }
        let (chunks, chunk) = self.chunks(width);
        // As many bytes in flight with short chunks as with long ones.
        let kernel = match chunk.div_ceil(8 * lane_words(width)) {
            0 | 1 => &PERMUTE_SHORTEST,
            2 => &PERMUTE_SHORT,
            _ => &PERMUTE,
        };
        let units = self.units(chunks);
        let threads = if facts.in_turn { 32 } else { MOVING_THREADS as usize };
        // As many as their registers leave room for.
        let per_multiprocessor = if width.bytes() < 8 { 5 } else { 4 };
        let most = if facts.in_turn { 1 } else { per_multiprocessor * facts.multiprocessors };
        // A few chunks to a warp: those that find theirs moved already cost little.
        let blocks = units.div_ceil(threads / 8).clamp(1, most);
        (self.moving(kernel, width, [blocks, threads, 0], (chunks, chunk)), flag_bytes(units))
    }

    /// Short cycles, each moved by one warp.
    fn by_leaders(&self, width: Width, facts: &Facts) -> Launch {
        let (chunks, chunk) = self.chunks(width);
        let kernel = match chunk.div_ceil(8 * lane_words(width)) {
            0 | 1 => &LEADERS_SHORT,
            _ => &LEADERS,
        };
        let blocks = self.units(chunks).div_ceil(128).clamp(1, 16 * facts.multiprocessors);
        self.moving(kernel, width, [blocks, MOVING_THREADS as usize, 0], (chunks, chunk))
    }

    /// Cycles of any length, by one step at a time; two chunks of any length to a warp.
    fn through_shared_memory(
        &self,
        width: Width,
        facts: &Facts,
        options: &InPlaceOptions,
    ) -> (Launch, usize) {
        let (bytes, room) = (width.bytes(), carrying_room(facts, options));
        let chunks = self.length.div_ceil(self.carried_chunk(width, facts, options));
        let chunk = self.length.div_ceil(chunks);
        let warps = if facts.in_turn { 1 } else { (room / (2 * chunk * bytes)).clamp(1, 4) };
        let shared = warps * 2 * chunk * bytes;
        let units = self.units(chunks);
        let per_multiprocessor = (facts.multiprocessor_shared / (shared + 1024)).clamp(1, 16);
        let most = if facts.in_turn { 1 } else { per_multiprocessor * facts.multiprocessors };
        let blocks = units.div_ceil(4 * warps).clamp(1, most);
        let blocks = [blocks, 32 * warps, shared];
        (self.moving(&CARRY, width, blocks, (chunks, chunk)), flag_bytes(units))
    }

    /// The most words of a slot of which a block can hold two times as many.
    fn carried_chunk(&self, width: Width, facts: &Facts, options: &InPlaceOptions) -> usize {
        (carrying_room(facts, options) / (2 * width.bytes())).min(self.length)
    }

    /// What is moved along cycles by itself.
    fn units(&self, chunks: usize) -> usize {
        self.rows * self.cols * chunks * self.instances
    }

    /// A launch of so many blocks, of so many threads and bytes of shared memory.
    fn moving(
        &self,
        kernel: &Kernel<abi::Slots>,
        width: Width,
        [blocks, threads, shared]: [usize; 3],
        (chunks, chunk): (usize, usize),
    ) -> Launch {
        let params = abi::Slots {
            rows: self.rows as u64,
            cols: divisor32(self.cols),
            length: self.length as u64,
            chunk: chunk as u64,
            chunks: chunks as u64,
            period: divisor32(self.period),
            gap: self.gap as u64,
            instances: self.instances as u64,
            slots: divisor32(self.rows * self.cols),
            scramble: scramble(self.units(chunks).div_ceil(32)) as u64,
        };
        launch(kernel, width, [blocks, 1], threads, shared, params)
    }
}

/// Bytes of shared memory that the warps of a block may carry.
fn carrying_room(facts: &Facts, options: &InPlaceOptions) -> usize {
    facts.block_shared.min(options.on_chip_bytes.unwrap_or(usize::MAX))
}

/// The words of a super-element that a lane has room for.
fn lane_words(width: Width) -> usize {
    if width == Width::B16 { 4 } else { 8 }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::{LEAST_BYTES, MOST_BYTES, Slots, abi, flag_bytes, gcd, scramble, short_cycle};
    use crate::Device;
    use crate::in_place::options::InPlaceOptions;
    use crate::kernels::Width;

    /// Of 3 bytes 2³² words and five are fewer than 2³¹ elements.
    #[test]
    fn words_of_a_slot_are_counted_in_32_bits() {
        let (facts, options) = (Device::simulated().facts().clone(), InPlaceOptions::default());
        let refused = |length: usize, bytes: usize| {
            Slots::dense(2, 2, length, 1).refusal(bytes, &facts, &options).is_some()
        };
        assert!(refused(((1 << 32) + 5) / 3, 3) && refused((1 << 30) + 1, 6));
        assert!(!refused((1 << 30) + 1, 4) && !refused((1 << 31) / 3, 3));
    }

    /// Chunks that start anywhere have words of their own, and fit the registers of a warp.
    #[test]
    fn chunks_of_bytes_are_neither_short_nor_long() {
        let facts = Device::simulated().facts().clone();
        for length in (1..3000).chain((1 << 18..1 << 19).step_by(997)) {
            let slots = Slots { gap: 1, ..Slots::dense(5, 7, length, 1) };
            let Some((launch, _)) = slots.by_bytes(Width::B1, &facts) else { continue };
            let abi::Slots { chunk, chunks, .. } = launch.params.to().unwrap();
            let last = length as u64 - (chunks - 1) * chunk;
            assert!(
                chunk <= MOST_BYTES && (LEAST_BYTES as u64..=chunk).contains(&last),
                "{length}"
            );
        }
        assert!(Slots::dense(5, 7, 509, 1).by_bytes(Width::B1, &facts).is_some());
        assert!(Slots::dense(5, 7, 509, 1).by_bytes(Width::B4, &facts).is_none());
    }

    #[test]
    fn scrambled_words_are_all_words() {
        for count in 1..2000 {
            let number = scramble(count);
            assert!(number >= 1 && gcd(number, count) == 1, "{count}");
        }
        assert_eq!(flag_bytes(33), 8);
    }

    #[cfg(all(feature = "simulator", feature = "in_place_studies"))]
    #[test]
    fn carried_super_elements_fit_the_room() {
        use crate::{Carry, InPlaceOptions};

        let facts = Device::simulated().facts().clone();
        for bytes in 0..200 {
            let carry = Carry::SharedMemory;
            let options =
                InPlaceOptions { on_chip_bytes: Some(bytes), carry, ..Default::default() };
            for length in [1, 7, 16, 100] {
                let slots = Slots::dense(5, 7, length, 1);
                let refused = slots.refusal(1, &facts, &options).is_some();
                assert_eq!(refused, bytes < 2 * slots.in_words(1).1.bytes());
                if !refused {
                    let shared = slots.launch(1, &facts, &options).0.dynamic_shared_bytes;
                    assert!(shared as usize <= bytes, "{length}: {shared} of {bytes}");
                }
            }
        }
    }

    #[test]
    fn squares_and_powers_of_two_have_short_cycles() {
        assert_eq!(short_cycle(100, 100), Some(2));
        assert_eq!(short_cycle(16384, 128), Some(3));
        assert_eq!(short_cycle(16384, 64), Some(10));
        assert_eq!(short_cycle(125, 10000), None);
    }
}

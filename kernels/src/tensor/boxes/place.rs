//! Where a box starts, and how many stretches it has on either side.

use crate::element::Element;
use crate::tensor::axes::{divide, steps, unrolled};
use kernel_abi::tensor::{Boxes, Digit, Digits, Part, MOST_BLOCK_AXES, MOST_DIGITS};

/// A box: where it starts, and how many stretches it has.
#[derive(Clone, Copy)]
pub struct Place {
    /// Words of the source before it.
    pub from: u64,
    /// Words of the destination before it.
    pub to: u64,
    /// Stretches of the source.
    pub sources: u32,
    /// Words of each.
    pub source_words: u32,
    /// Stretches of the destination.
    pub targets: u32,
    /// Words of each.
    pub target_words: u32,
    /// Which of the block's boxes it is.
    pub turn: u32,
}

impl Place {
    /// That of a box, as if it were the block's first.
    #[inline(always)]
    pub fn of(params: &Boxes, number: u32) -> Self {
        let (mut from, mut to) = (0u64, 0u64);
        let mut indices = [1; MOST_BLOCK_AXES];
        let mut rest = number;
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            from = from.wrapping_add(steps(index, axis.src));
            to = to.wrapping_add(steps(index, axis.dst));
            indices[AXIS] = index;
            rest = quotient;
        } }
        let _ = rest;
        let left = |part: &Part, index: u32| {
            (part.all as u32 - index * part.part as u32).min(part.part as u32)
        };
        let [first, second] = &params.parts;
        let indices = (left(first, indices[0]), left(second, indices[1]));
        let count = |digits: &Digits| count(digits, indices);
        Place {
            from,
            to,
            sources: count(&params.sources),
            source_words: count(&params.source_words),
            targets: count(&params.targets),
            target_words: count(&params.target_words),
            turn: 0,
        }
    }

    /// Bytes in shared memory.
    pub const BYTES: u32 = 32;

    /// Stores it to shared memory.
    ///
    /// # Safety
    /// The [`BYTES`](Self::BYTES) from `address` on, a multiple of 8, are this thread's until the next barrier.
    #[inline(always)]
    pub unsafe fn store_shared(self, address: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            self.from.store_shared(address);
            self.to.store_shared(address + 8);
            self.sources.store_shared(address + 16);
            self.source_words.store_shared(address + 20);
            self.targets.store_shared(address + 24);
            self.target_words.store_shared(address + 28);
        }
    }

    /// That which was stored there, of the box that the block moves in such a turn.
    ///
    /// # Safety
    /// A barrier separates this from what stored it.
    #[inline(always)]
    pub unsafe fn load_shared(address: u32, turn: u32) -> Self {
        // SAFETY: the caller's obligations.
        unsafe {
            Place {
                from: u64::load_shared(address),
                to: u64::load_shared(address + 8),
                sources: u32::load_shared(address + 16),
                source_words: u32::load_shared(address + 20),
                targets: u32::load_shared(address + 24),
                target_words: u32::load_shared(address + 28),
                turn,
            }
        }
    }
}

/// How many numbers there are in a box that has `indices` of the two axes that boxes have parts of.
#[inline(always)]
fn count(digits: &Digits, indices: (u32, u32)) -> u32 {
    let times = match digits.of {
        0 => indices.0,
        1 => indices.1,
        _ => 1,
    };
    digits.each as u32 * times
}

/// What a number's digits add up to, each times what `of` says of it.
#[inline(always)]
pub fn sum(digits: &Digits, number: u32, of: impl Fn(&Digit) -> u64) -> u64 {
    sum_by(digits, number, |place| of(&digits.digits[place]))
}

/// What a number's digits add up to, each times what `of` says of its place, which is a constant.
#[inline(always)]
pub fn sum_by(digits: &Digits, number: u32, of: impl Fn(usize) -> u64) -> u64 {
    let (mut sum, mut rest) = (0u64, number);
    unrolled! { DIGIT in [0 1 2 3 4 5] of digits.count => {
        const { assert!(MOST_DIGITS == 6) };
        let digit = &digits.digits[DIGIT];
        // The last digit is what is left.
        let is_last = DIGIT + 1 == digits.count as usize;
        let (quotient, index) = if is_last { (0, rest) } else { divide(rest, digit.divisor) };
        sum = sum.wrapping_add(steps(index, of(DIGIT)));
        rest = quotient;
    } }
    let _ = rest;
    sum
}

/// How many bytes of shared memory the digits behind the first add up to, of a number from which the first has been taken.
#[inline(always)]
pub fn inside_behind_first(digits: &Digits, above: u32) -> u32 {
    let (mut inside, mut rest) = (0u32, above);
    unrolled! { DIGIT in [1 2 3 4 5] of digits.count => {
        const { assert!(MOST_DIGITS == 6) };
        let digit = &digits.digits[DIGIT];
        // The last digit is what is left.
        let is_last = DIGIT + 1 == digits.count as usize;
        let (quotient, index) = if is_last { (0, rest) } else { divide(rest, digit.divisor) };
        inside += index * digit.inside as u32;
        rest = quotient;
    } }
    let _ = rest;
    inside
}

/// How many bytes a number's digits add up to outside, where a word has `word_bytes`, and in shared memory. The kernels of narrow words find both out together, which takes fewer instructions.
#[inline(always)]
pub fn outside_and_inside<E>(digits: &Digits, number: u32, word_bytes: u64) -> (u64, u32) {
    if size_of::<E>() >= 4 {
        let outside = sum(digits, number, |digit| digit.outside);
        let outside = outside.wrapping_mul(word_bytes);
        let inside = sum(digits, number, |digit| digit.inside) as u32;
        return (outside, inside);
    }
    let (mut outside, mut inside, mut rest) = (0u64, 0u32, number);
    unrolled! { DIGIT in [0 1 2 3 4 5] of digits.count => {
        const { assert!(MOST_DIGITS == 6) };
        let digit = &digits.digits[DIGIT];
        // The last digit is what is left.
        let is_last = DIGIT + 1 == digits.count as usize;
        let (quotient, index) = if is_last { (0, rest) } else { divide(rest, digit.divisor) };
        outside = outside.wrapping_add(steps(index, digit.outside));
        inside += index * digit.inside as u32;
        rest = quotient;
    } }
    let _ = rest;
    (outside.wrapping_mul(word_bytes), inside)
}

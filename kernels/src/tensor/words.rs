//! Any move: a word a thread at a time, in the order of the axes that it is given: most often the destination's.
//!
//! Neighbouring threads have neighbouring words of the destination. Where the innermost axis lies together on both sides, that is as
//! fast as a copy if its words are vectors; where it does not, each lane of a warp reads another sector. A thread moves four words
//! that are a block's threads apart, whose loads are in flight together.

use super::axes::{divide, steps, unrolled};
use super::on_the_way::{AsTheyAre, Flipped, OnTheWay};
use super::tensor_entry;
use crate::element::{Element, B16};
use cuda_std::thread;
use kernel_abi::tensor::{Words, MOST_AXES, WORDS_OF_THREAD, WORDS_THREADS};

/// Words of a thread.
const EACH: usize = WORDS_OF_THREAD as usize;

/// Moves the words of this block.
///
/// # Safety
/// Those of the entry points.
#[inline(always)]
unsafe fn move_words<E: Element>(
    src: *const E,
    dst: *mut E,
    params: &Words,
    on_the_way: impl OnTheWay<E>,
) {
    let first = thread::block_idx_x() * (WORDS_THREADS * WORDS_OF_THREAD) + thread::thread_idx_x();
    let number = |k: usize| first + k as u32 * WORDS_THREADS;
    let mut rest = [number(0), number(1), number(2), number(3)];
    let (mut from, mut to) = ([0u64; EACH], [0u64; EACH]);
    unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16] of params.count => {
        const { assert!(MOST_AXES == 17) };
        let axis = &params.axes[AXIS];
        for k in 0..EACH {
            let (quotient, index) = divide(rest[k], axis.divisor);
            from[k] = from[k].wrapping_add(steps(index, axis.src));
            to[k] = to[k].wrapping_add(steps(index, axis.dst));
            rest[k] = quotient;
        }
    } }
    let mut held = [E::ANY; EACH];
    for k in 0..EACH {
        if number(k) < params.words as u32 {
            // SAFETY: a word of the source.
            held[k] = unsafe { E::load(src.wrapping_add(from[k] as usize)) };
        }
    }
    for k in 0..EACH {
        if number(k) < params.words as u32 {
            // SAFETY: a word of the destination, which no other thread has.
            unsafe { on_the_way.word(held[k]).store(dst.wrapping_add(to[k] as usize)) };
        }
    }
}

/// Defines an entry point that moves words as they are.
macro_rules! words {
    ($name:ident: $element:ty) => {
        tensor_entry! {
            "Moves words one by one, in the order of their axes.",
            WORDS: Words, $name: $element, |src, dst, params| move_words(src, dst, &params, AsTheyAre)
        }
    };
}

words!(words_b1: u8);
words!(words_b2: u16);
words!(words_b4: u32);
words!(words_b8: u64);
words!(words_b16: B16);

/// Defines an entry point that flips bits on the way.
macro_rules! words_xor {
    ($name:ident: $element:ty) => {
        tensor_entry! {
            "Moves words one by one, in the order of their axes, and flips bits of them: in place too, if every word stays where it is.",
            WORDS_XOR: WordsXor, $name: $element, |src, dst, params| {
                move_words(src, dst, &params.words, Flipped::by(params.mask))
            }
        }
    };
}

words_xor!(words_xor_b4: u32);
words_xor!(words_xor_b8: u64);
words_xor!(words_xor_b16: B16);

//! Vectors out of single words.

use crate::element::{Element, B16};

/// A word that vectors are made of.
pub trait Word: Element {
    /// The vector of the words that `word` gives for 0, 1, …
    fn vector(word: impl Fn(u32) -> Self) -> B16;
}

impl Word for B16 {
    #[inline(always)]
    fn vector(word: impl Fn(u32) -> Self) -> B16 {
        word(0)
    }
}

impl Word for u64 {
    #[inline(always)]
    fn vector(word: impl Fn(u32) -> Self) -> B16 {
        B16::from_u64s([word(0), word(1)])
    }
}

impl Word for u32 {
    #[inline(always)]
    fn vector(word: impl Fn(u32) -> Self) -> B16 {
        B16(word(0), word(1), word(2), word(3))
    }
}

impl Word for u16 {
    #[inline(always)]
    fn vector(word: impl Fn(u32) -> Self) -> B16 {
        let pair = |i: u32| word(i) as u32 | (word(i + 1) as u32) << 16;
        B16(pair(0), pair(2), pair(4), pair(6))
    }
}

impl Word for u8 {
    #[inline(always)]
    fn vector(word: impl Fn(u32) -> Self) -> B16 {
        let four = |i: u32| {
            let byte = |j: u32| (word(i + j) as u32) << (8 * j);
            byte(0) | byte(1) | byte(2) | byte(3)
        };
        B16(four(0), four(4), four(8), four(12))
    }
}

//! Where a box's words are loaded from.

use super::place::Place;
use kernel_abi::fast::VECTOR;

/// A source of boxes. It is loaded by vectors, which become as many vectors of the image, of as many words: bytes of the image are those of the source times a power of two, or divided by one.
pub trait Source: Copy {
    /// The address that the kernel is given.
    fn start(self) -> u64;

    /// Bytes of a word.
    fn word_bytes(self) -> u64;

    /// Bytes of a vector: a power of two.
    fn vector_bytes(self) -> u32;

    /// How many bytes of the image `bytes` bytes of the source become.
    fn in_image(self, bytes: u32) -> u32;

    /// The address of the word that `words` words are before.
    #[inline(always)]
    fn address(self, words: u64) -> u64 {
        self.start().wrapping_add(words.wrapping_mul(self.word_bytes()))
    }

    /// Bytes of the image before the first word of a box, which lies behind a vector as it does in the source.
    #[inline(always)]
    fn skew(self, place: &Place) -> u32 {
        self.in_image(self.address(place.from) as u32 & (self.vector_bytes() - 1))
    }
}

/// Words that are moved as they are.
#[derive(Clone, Copy)]
pub struct AsItLies<E>(pub *const E);

impl<E: Copy> Source for AsItLies<E> {
    #[inline(always)]
    fn start(self) -> u64 {
        self.0 as u64
    }

    #[inline(always)]
    fn word_bytes(self) -> u64 {
        size_of::<E>() as u64
    }

    #[inline(always)]
    fn vector_bytes(self) -> u32 {
        VECTOR
    }

    #[inline(always)]
    fn in_image(self, bytes: u32) -> u32 {
        bytes
    }
}

//! Where a box's words are loaded from, and how they get into its image.

use super::load::{begin_copies, copies, load};
use super::place::Place;
use super::tables::Tables;
use crate::element::Element;
use crate::global::await_copies;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::Boxes;

/// A source of boxes. It is loaded by vectors, which become as many vectors of the image, of as many words: bytes of the image are those of the source times a power of two, or divided by one.
pub trait Source: Copy {
    /// Whether what is loaded is on its way while threads do something else.
    fn are_copies(self) -> bool;

    /// The address that the kernel is given.
    fn start(self) -> u64;

    /// Bytes of a word.
    fn word_bytes(self) -> u64;

    /// Bytes of a vector: a power of two.
    fn vector_bytes(self) -> u32;

    /// The bytes of the image for so many bytes of the source.
    fn in_image(self, bytes: u32) -> u32;

    /// Prepares the image, before anything is loaded.
    ///
    /// # Safety
    /// The obligations of the entry points; a barrier follows.
    #[inline(always)]
    unsafe fn prepare(self, _: &Boxes) {}

    /// Begins to load the stretches of a box.
    ///
    /// # Safety
    /// The obligations of the entry points; barriers separate this from what told where the stretches lie, and from what loaded what the image held.
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place);

    /// Waits until those that this thread loads are in the image, of the box that the block moves in such a turn.
    ///
    /// # Safety
    /// The thread has [begun](Self::begin) to load the same box, and nothing else has been told since.
    unsafe fn finish(self, params: &Boxes, tables: impl Fn() -> Tables, turn: u32);

    /// The address that so many words lie before.
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

impl<E: Element> Source for AsItLies<E> {
    #[inline(always)]
    fn are_copies(self) -> bool {
        copies::<E>()
    }

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

    #[inline(always)]
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe {
            if copies::<E>() {
                begin_copies::<E>(self.start(), params, tables, place);
            } else {
                load::<E>(self.start(), params, tables, place);
            }
        }
    }

    #[inline(always)]
    unsafe fn finish(self, _: &Boxes, _: impl Fn() -> Tables, _: u32) {
        if copies::<E>() {
            await_copies();
        }
    }
}

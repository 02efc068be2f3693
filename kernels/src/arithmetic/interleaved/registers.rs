//! Units of pixels and units of planes, out of each other, and units the other way around, in a thread's registers.

use crate::element::{Element, B16};
use crate::shared::permute;
use crate::tensor::axes::unrolled;

/// The `word`-th word of units of `words` words each, side by side.
#[inline(always)]
fn word_of<const C: usize>(units: &[B16; C], words: usize, word: usize) -> u32 {
    units[word / words].u32s()[word % words]
}

/// `C` units of `N` elements of `BYTES` bytes: the words of which are what `word` says.
#[inline(always)]
fn units<const C: usize, const BYTES: usize, const N: usize>(
    word: impl Fn(usize, usize) -> u32,
) -> [B16; C] {
    let mut units = [B16::ANY; C];
    unrolled! { K in [0 1 2 3] of C => {
        let mut parts = [0u32; 4];
        unrolled! { W in [0 1 2 3] of N * BYTES / 4 => {
            parts[W] = word(K, W);
        } }
        units[K] = B16::from_u32s(parts);
    } }
    units
}

/// Four bytes, of which `of` says the word of these, and the byte there, that each comes from.
#[inline(always)]
fn bytes_of<const C: usize>(words: [u32; C], of: impl Fn(u32) -> (u32, u32)) -> u32 {
    let mut bytes = words[0];
    unrolled! { NUMBER in [0 1 2 3] of C => {
        if NUMBER != 0 {
            // Of the words before, the bytes are in their places, but for the first one's.
            let mut selector = 0;
            for j in 0..4 {
                let (word, byte) = of(j);
                let before = if NUMBER == 1 { byte } else { j };
                let from = if word == NUMBER as u32 { 4 + byte } else { before };
                selector |= from << (4 * j);
            }
            bytes = permute(bytes, words[NUMBER], selector);
        }
    } }
    bytes
}

/// Two halves of words: of each the word, and whether it is the upper half.
#[inline(always)]
fn halves(low: (u32, bool), high: (u32, bool)) -> u32 {
    let (a, b) = (if low.1 { 0x32 } else { 0x10 }, if high.1 { 0x7600 } else { 0x5400 });
    permute(low.0, high.0, a | b)
}

/// Units of planes out of as many units of pixels.
#[inline(always)]
fn planes<const C: usize, const BYTES: usize, const N: usize>(pixels: [B16; C]) -> [B16; C] {
    let word = |at: usize| word_of(&pixels, N * BYTES / 4, at);
    units::<C, BYTES, N>(|channel, w| match BYTES {
        1 => bytes_of::<C>(core::array::from_fn(|k| word(C * w + k)), |j| {
            let byte = channel as u32 + C as u32 * j;
            (byte / 4, byte % 4)
        }),
        2 => {
            let half = |at: usize| (word(at / 2), at % 2 == 1);
            let first = 2 * C * w + channel;
            halves(half(first), half(first + C))
        }
        _ => word(C * w + channel),
    })
}

/// Units of pixels out of as many units of planes.
#[inline(always)]
fn pixels<const C: usize, const BYTES: usize, const N: usize>(planes: [B16; C]) -> [B16; C] {
    units::<C, BYTES, N>(|unit, w| {
        // The word's number, of all units.
        let at = unit * (N * BYTES / 4) + w;
        match BYTES {
            1 => bytes_of::<C>(core::array::from_fn(|c| planes[c].u32s()[at / C]), |j| {
                let element = (4 * (at % C)) as u32 + j;
                (element % C as u32, element / C as u32)
            }),
            2 => {
                let half = |element: usize| {
                    let pixel = element / C;
                    (planes[element % C].u32s()[pixel / 2], pixel % 2 == 1)
                };
                halves(half(2 * at), half(2 * at + 1))
            }
            _ => planes[at % C].u32s()[at / C],
        }
    })
}

/// `C` units of `N` elements of `BYTES` bytes, each from its last element to its first.
#[inline(always)]
fn turned<const C: usize, const BYTES: usize, const N: usize>(all: [B16; C]) -> [B16; C] {
    units::<C, BYTES, N>(|unit, w| {
        let word = all[unit].u32s()[N * BYTES / 4 - 1 - w];
        match BYTES {
            1 => permute(word, word, 0x0123),
            2 => permute(word, word, 0x1032),
            _ => word,
        }
    })
}

/// Calls one of these functions by the bytes of an element and the elements of a unit.
macro_rules! by_size {
    ($function:ident, $bytes:expr, $unit:expr, $units:expr) => {
        match ($bytes, $unit) {
            (1, 8) => $function::<C, 1, 8>($units),
            (1, _) => $function::<C, 1, 4>($units),
            (2, 8) => $function::<C, 2, 8>($units),
            (2, _) => $function::<C, 2, 4>($units),
            _ => $function::<C, 4, 4>($units),
        }
    };
}

/// [`planes`] of elements of `bytes` bytes, of which `unit` are a unit.
#[inline(always)]
pub fn planes_of<const C: usize>(bytes: usize, unit: usize, units: [B16; C]) -> [B16; C] {
    by_size!(planes, bytes, unit, units)
}

/// [`pixels`] of elements of `bytes` bytes, of which `unit` are a unit.
#[inline(always)]
pub fn pixels_of<const C: usize>(bytes: usize, unit: usize, units: [B16; C]) -> [B16; C] {
    by_size!(pixels, bytes, unit, units)
}

/// [`turned`] units of elements of `bytes` bytes, of which `unit` are a unit.
#[inline(always)]
pub fn mirrored<const C: usize>(bytes: usize, unit: usize, units: [B16; C]) -> [B16; C] {
    by_size!(turned, bytes, unit, units)
}

//! What is computed of the elements of a unit: `α·a`, or `α·a + β·b`. Each product and each sum is rounded, one after the other, as in a program that
//! computes them so.
//!
//! A channel's own factor and summand take the place of α and β·b where there are channels.

use super::formats::{decode, encode, for_numbers};
use super::memory::load_part;
use super::real::Real;
use crate::element::B16;
use crate::opaque::opaque;
use crate::tensor::axes::unrolled;
use kernel_abi::arithmetic::{flags, Operation};

/// Which channels the numbers of a unit are of, if the kernel knows of channels.
pub trait Channels {
    /// Whether it does.
    const ARE_THERE: bool;

    /// Whether it knows of a second operand.
    const MAY_ADD: bool = true;

    /// The address of the factor and summand of the `j`-th number's channel, of a table of pairs of so many bytes.
    #[inline(always)]
    fn pair_of(&self, _j: usize, table: u64, _bytes: usize) -> u64 {
        table
    }

    /// Whether all are of one channel.
    #[inline(always)]
    fn are_one(&self) -> bool {
        true
    }
}

/// The address of a channel's pair, of a table of pairs of so many bytes.
#[inline(always)]
pub fn pair_of(channel: u32, table: u64, bytes: usize) -> u64 {
    // Channels may be counted backwards, from the last one.
    let before = (channel as i32 as i64).wrapping_mul(bytes as i64);
    table.wrapping_add(before as u64)
}

/// There are no channels.
#[derive(Clone, Copy)]
pub struct NoChannels;

impl Channels for NoChannels {
    const ARE_THERE: bool = false;
}

/// There are no channels, and no second operand.
#[derive(Clone, Copy)]
pub struct NothingBeside;

impl Channels for NothingBeside {
    const ARE_THERE: bool = false;
    const MAY_ADD: bool = false;
}

/// The channel of the first number of a unit, and how far that of the next one is from it.
pub struct Stepping {
    /// The first channel.
    pub first: u32,
    /// The step.
    pub step: u32,
}

impl Channels for Stepping {
    const ARE_THERE: bool = true;

    #[inline(always)]
    fn pair_of(&self, j: usize, table: u64, bytes: usize) -> u64 {
        let step = opaque(self.step);
        pair_of(self.first.wrapping_add((j as u32).wrapping_mul(step)), table, bytes)
    }

    #[inline(always)]
    fn are_one(&self) -> bool {
        self.step == 0
    }
}

/// The channels of the numbers of a unit, one by one.
pub struct Each {
    /// The channels.
    pub channels: [u32; 8],
    /// Whether all are one.
    pub are_one: bool,
}

impl Channels for Each {
    const ARE_THERE: bool = true;

    #[inline(always)]
    fn pair_of(&self, j: usize, table: u64, bytes: usize) -> u64 {
        pair_of(self.channels[j], table, bytes)
    }

    #[inline(always)]
    fn are_one(&self) -> bool {
        self.are_one
    }
}

/// The results for the `N` numbers that each vector begins with, of `SRC` bytes in the source, and of `DST` in the destination and the second operand. Of
/// `COMPLEX` elements these are the parts, two of each.
///
/// Several vectors at a time: what is computed of one does not wait for another.
#[inline(always)]
pub fn compute<
    const SRC: usize,
    const DST: usize,
    const N: usize,
    const K: usize,
    const COMPLEX: bool,
>(
    operation: &Operation,
    src: [B16; K],
    other: [B16; K],
    channels: &[impl Channels; K],
) -> [B16; K] {
    if SRC < 4 && DST < 4 {
        return in_numbers::<f32, SRC, DST, N, K, COMPLEX>(operation, src, other, channels);
    }
    if SRC == 8 || DST == 8 || operation.flags & flags::WIDE != 0 {
        in_numbers::<f64, SRC, DST, N, K, COMPLEX>(operation, src, other, channels)
    } else {
        in_numbers::<f32, SRC, DST, N, K, COMPLEX>(operation, src, other, channels)
    }
}

/// The same, computed in such numbers.
#[inline(always)]
fn in_numbers<
    F: Real,
    const SRC: usize,
    const DST: usize,
    const N: usize,
    const K: usize,
    const COMPLEX: bool,
>(
    operation: &Operation,
    src: [B16; K],
    other: [B16; K],
    channels: &[impl Channels; K],
) -> [B16; K] {
    let flags = operation.flags;
    let mut values = decode::<F, SRC, N, K>(operation.src as u32, src);
    if COMPLEX && flags & flags::CONJUGATE != 0 {
        for_numbers! { V of K, J of N => {
            if J % 2 == 1 {
                values[V][J] = values[V][J].negated();
            }
        } }
    }
    if !COMPLEX && has_channels(operation, channels) {
        unrolled! { V in [0 1 2 3] of K => {
            let load = |j: usize| {
                let bytes = 2 * size_of::<F>();
                // SAFETY: a pair of the table, which nothing writes.
                F::pair(unsafe { load_part(channels[V].pair_of(j, operation.other, bytes), bytes) })
            };
            let mut pair = load(0);
            unrolled! { J in [0 1 2 3 4 5 6 7] of N => {
                if J != 0 && !channels[V].are_one() {
                    pair = load(J);
                }
                values[V][J] = values[V][J].times(pair[0]).plus(pair[1]);
            } }
        } }
    } else {
        let alpha = [operation.alpha, operation.alpha_im];
        values = product::<F, N, K, COMPLEX>(flags, alpha, values);
        if may_add(channels) && flags & flags::OTHER != 0 {
            let others = decode::<F, DST, N, K>(operation.dst as u32, other);
            let beta = [operation.beta, operation.beta_im];
            let others = product::<F, N, K, COMPLEX>(flags, beta, others);
            for_numbers! { V of K, J of N => {
                values[V][J] = values[V][J].plus(others[V][J]);
            } }
        }
    }
    encode::<F, DST, N, K>(operation.dst as u32, values)
}

/// Pairs of a factor and a summand that are in registers, as the numbers that it is computed in.
pub trait HeldPairs<F = f32> {
    /// That of the `j`-th number.
    fn of(&self, j: usize) -> [F; 2];
}

/// The results for the `N` numbers that each vector begins with, each by its pair: those of the second vector's follow those of the first one's.
#[inline(always)]
pub fn by_pairs<F: Real, const SRC: usize, const DST: usize, const N: usize, const K: usize>(
    operation: &Operation,
    src: [B16; K],
    pairs: &impl HeldPairs<F>,
) -> [B16; K] {
    let mut values = decode::<F, SRC, N, K>(operation.src as u32, src);
    for_numbers! { V of K, J of N => {
        let [factor, summand] = pairs.of(V * N + J);
        values[V][J] = values[V][J].times(factor).plus(summand);
    } }
    encode::<F, DST, N, K>(operation.dst as u32, values)
}

/// Whether each channel has its own factor.
#[inline(always)]
fn has_channels<C: Channels, const K: usize>(operation: &Operation, _: &[C; K]) -> bool {
    C::ARE_THERE && operation.flags & flags::CHANNELS != 0
}

/// Whether there may be a second operand.
#[inline(always)]
fn may_add<C: Channels, const K: usize>(_: &[C; K]) -> bool {
    C::MAY_ADD
}

/// Numbers by a factor.
#[inline(always)]
fn product<F: Real, const N: usize, const K: usize, const COMPLEX: bool>(
    flags: u64,
    factor: [u64; 2],
    mut values: [[F; N]; K],
) -> [[F; N]; K] {
    let re = F::factor(factor[0]);
    if COMPLEX && flags & flags::COMPLEX_FACTORS != 0 {
        let im = F::factor(factor[1]);
        for_numbers! { V of K, J of N => {
            if J % 2 == 1 {
                let (a, b) = (values[V][J - J % 2], values[V][J]);
                values[V][J - J % 2] = a.times(re).plus(b.times(im).negated());
                values[V][J] = a.times(im).plus(b.times(re));
            }
        } }
        return values;
    }
    for_numbers! { V of K, J of N => {
        values[V][J] = values[V][J].times(re);
    } }
    values
}

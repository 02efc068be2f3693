//! The sizes of elements of source and destination, and what is computed of as many of them as are a unit.

use super::operation::{by_pairs, compute, Channels, HeldPairs};
use super::real::Real;
use crate::element::B16;
use kernel_abi::arithmetic::{flags, unit, Operation};

/// A source of elements of `SRC` bytes, and a destination of elements of `DST`.
pub trait Pair {
    /// Bytes of an element of the source.
    const SRC: usize;

    /// Bytes of an element of the destination.
    const DST: usize;

    /// Elements of a unit.
    const UNIT: usize = unit(Self::SRC, Self::DST);

    /// Whether there are real elements of these sizes.
    const ARE_REAL: bool;

    /// The results for `WHOLE` units, or else for the single elements that vectors begin with.
    fn compute<const WHOLE: bool, const K: usize>(
        operation: &Operation,
        src: [B16; K],
        other: [B16; K],
        channels: &[impl Channels; K],
    ) -> [B16; K];

    /// The results for units of real elements whose pairs are in registers, as the numbers that it is computed in: of 64 bits if an element has 8 bytes, of 32 if none has 4, and else of either.
    fn by_pairs<F: Real, const K: usize>(
        operation: &Operation,
        src: [B16; K],
        pairs: &impl HeldPairs<F>,
    ) -> [B16; K];
}

/// These sizes.
pub struct Sizes<const SRC: usize, const DST: usize>;

/// Implements [`Pair`]: for real elements, so many to a unit; for complex ones, whose parts have so many bytes, and so many are in a unit; or for both, of
/// which the flags say what they are.
macro_rules! pairs {
    ($($src:literal $dst:literal: $(real $unit:literal)? $(complex $part_src:literal $part_dst:literal: $parts:literal)?),+ $(,)?) => { $(
        impl Pair for Sizes<$src, $dst> {
            const SRC: usize = $src;
            const DST: usize = $dst;
            const ARE_REAL: bool = pairs!(@is_some $($unit)?);

            #[inline(always)]
            fn compute<const WHOLE: bool, const K: usize>(
                operation: &Operation,
                src: [B16; K],
                other: [B16; K],
                channels: &[impl Channels; K],
            ) -> [B16; K] {
                $({
                    const { assert!($parts == 2 * unit($src, $dst)) };
                    if !Self::ARE_REAL || operation.flags & flags::COMPLEX != 0 {
                        return if WHOLE {
                            compute::<$part_src, $part_dst, $parts, K, true>(operation, src, other, channels)
                        } else {
                            compute::<$part_src, $part_dst, 2, K, true>(operation, src, other, channels)
                        };
                    }
                })?
                pairs!(@real [$src $dst $($unit)?] WHOLE K (operation, src, other, channels))
            }

            #[inline(always)]
            fn by_pairs<F: Real, const K: usize>(
                operation: &Operation,
                src: [B16; K],
                pairs: &impl HeldPairs<F>,
            ) -> [B16; K] {
                $(if size_of::<F>() == 8 && ($src >= 4 || $dst >= 4) || size_of::<F>() == 4 && $src < 8 && $dst < 8 {
                    return by_pairs::<F, $src, $dst, $unit, K>(operation, src, pairs);
                })?
                let _ = (operation, pairs);
                src
            }
        }
    )+ };
    (@is_some) => { false };
    (@is_some $unit:literal) => { true };
    (@real [$src:literal $dst:literal] $whole:ident $k:ident ($operation:ident, $a:ident, $other:ident, $channels:ident)) => {
        // No real element has so many bytes.
        $a
    };
    (@real [$src:literal $dst:literal $unit:literal] $whole:ident $k:ident ($operation:ident, $a:ident, $other:ident, $channels:ident)) => {{
        const { assert!($unit == unit($src, $dst)) };
        if $whole {
            compute::<$src, $dst, $unit, $k, false>($operation, $a, $other, $channels)
        } else {
            compute::<$src, $dst, 1, $k, false>($operation, $a, $other, $channels)
        }
    }};
}

pairs! {
    1 1: real 8, 1 2: real 8, 1 4: real 4, 1 8: real 2,
    2 1: real 8, 2 2: real 8, 2 4: real 4, 2 8: real 2,
    4 1: real 4, 4 2: real 4, 4 4: real 4, 4 8: real 2,
    8 1: real 2, 8 2: real 2, 8 4: real 2, 8 8: real 2 complex 4 4: 4,
    8 16: complex 4 8: 2, 16 8: complex 8 4: 2, 16 16: complex 8 8: 2,
}

/// Calls a generic function for the size of the destination's elements, one of those that there are for sources of this size: of all, of real numbers alone,
/// of narrow ones, of those that are computed in 64 bits, of those that the kernels of matrices serve, or of these such as have the source's size, less, or twice or four times as much. Its first parameter is the [`Pair`]; others are given behind the arguments.
macro_rules! for_sizes {
    (1 matrices, $($rest:tt)+) => { for_sizes!(@each 1 [1 2] 4, $($rest)+) };
    (2 matrices, $($rest:tt)+) => { for_sizes!(@each 2 [1 2] 4, $($rest)+) };
    (4 matrices, $($rest:tt)+) => { for_sizes!(@each 4 [1 2 4] 8, $($rest)+) };
    (8 matrices, $($rest:tt)+) => { for_sizes!(@each 8 [2 4] 8, $($rest)+) };
    (16 matrices, $($rest:tt)+) => { for_sizes!(@each 16 [] 16, $($rest)+) };
    (1 alike, $($rest:tt)+) => { for_sizes!(@each 1 [] 1, $($rest)+) };
    (2 alike, $($rest:tt)+) => { for_sizes!(@each 2 [] 2, $($rest)+) };
    (4 alike, $($rest:tt)+) => { for_sizes!(@each 4 [] 4, $($rest)+) };
    (2 narrower, $($rest:tt)+) => { for_sizes!(@each 2 [] 1, $($rest)+) };
    (4 narrower, $($rest:tt)+) => { for_sizes!(@each 4 [1] 2, $($rest)+) };
    (8 narrower, $($rest:tt)+) => { for_sizes!(@each 8 [2] 4, $($rest)+) };
    (8 alike, $($rest:tt)+) => { for_sizes!(@each 8 [] 8, $($rest)+) };
    (1 twice, $($rest:tt)+) => { for_sizes!(@each 1 [] 2, $($rest)+) };
    (2 twice, $($rest:tt)+) => { for_sizes!(@each 2 [] 4, $($rest)+) };
    (4 twice, $($rest:tt)+) => { for_sizes!(@each 4 [] 8, $($rest)+) };
    (1 four_times, $($rest:tt)+) => { for_sizes!(@each 1 [] 4, $($rest)+) };
    (1 narrow, $($rest:tt)+) => { for_sizes!(@each 1 [1 2] 4, $($rest)+) };
    (2 narrow, $($rest:tt)+) => { for_sizes!(@each 2 [1 2] 4, $($rest)+) };
    (4 narrow, $($rest:tt)+) => { for_sizes!(@each 4 [1 2] 4, $($rest)+) };
    (1 wide, $($rest:tt)+) => { for_sizes!(@each 1 [4] 8, $($rest)+) };
    (2 wide, $($rest:tt)+) => { for_sizes!(@each 2 [4] 8, $($rest)+) };
    (4 wide, $($rest:tt)+) => { for_sizes!(@each 4 [1 2 4] 8, $($rest)+) };
    (8 wide, $($rest:tt)+) => { for_sizes!(@each 8 [1 2 4] 8, $($rest)+) };
    (1, $($rest:tt)+) => { for_sizes!(@each 1 [1 2 4] 8, $($rest)+) };
    (2, $($rest:tt)+) => { for_sizes!(@each 2 [1 2 4] 8, $($rest)+) };
    (4, $($rest:tt)+) => { for_sizes!(@each 4 [1 2 4] 8, $($rest)+) };
    (8, $($rest:tt)+) => { for_sizes!(@each 8 [1 2 4 8] 16, $($rest)+) };
    (16, $($rest:tt)+) => { for_sizes!(@each 16 [8] 16, $($rest)+) };
    (@each $src:literal $sizes:tt $last:literal, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each $src $sizes $last, $params, $function $args, [])
    };
    (@each $src:literal [$($dst:literal)*] $last:literal, $params:expr, $function:ident $args:tt, $generics:tt) => {
        match $params.operation.dst_bytes {
            $($dst => for_sizes!(@call $function, $src $dst, $args, $generics),)*
            _ => for_sizes!(@call $function, $src $last, $args, $generics),
        }
    };
    (@call $function:ident, $src:literal $dst:literal, ($($arg:expr),*), [$($generic:tt),*]) => {
        $function::<$crate::arithmetic::pair::Sizes<$src, $dst> $(, $generic)*>($($arg),*)
    };
}
pub(super) use for_sizes;

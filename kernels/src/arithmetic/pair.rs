//! The sizes of elements of source and destination, and what is computed of as many of them as are a unit.

use super::operation::{compute, Channels};
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

    /// The results for units.
    fn whole<const K: usize>(
        operation: &Operation,
        src: [B16; K],
        other: [B16; K],
        channels: &[impl Channels; K],
    ) -> [B16; K];

    /// The results for single elements.
    fn single<const K: usize>(
        operation: &Operation,
        src: [B16; K],
        other: [B16; K],
        channels: &[impl Channels; K],
    ) -> [B16; K];
}

/// These sizes.
pub struct Sizes<const SRC: usize, const DST: usize>;

/// Implements [`Pair`] for real elements, of which a unit has `$unit`, and perhaps for complex ones.
macro_rules! pairs {
    ($($src:literal $dst:literal: $unit:literal $(or $re_src:literal $re_dst:literal: $re_unit:literal)?),+ $(,)?) => { $(
        impl Pair for Sizes<$src, $dst> {
            const SRC: usize = $src;
            const DST: usize = $dst;

            #[inline(always)]
            fn whole<const K: usize>(
                operation: &Operation,
                src: [B16; K],
                other: [B16; K],
                channels: &[impl Channels; K],
            ) -> [B16; K] {
                const { assert!($unit == unit($src, $dst)) };
                $(if operation.flags & flags::COMPLEX != 0 {
                    return compute::<$re_src, $re_dst, $re_unit, K>(operation, src, other, channels);
                })?
                compute::<$src, $dst, $unit, K>(operation, src, other, channels)
            }

            #[inline(always)]
            fn single<const K: usize>(
                operation: &Operation,
                src: [B16; K],
                other: [B16; K],
                channels: &[impl Channels; K],
            ) -> [B16; K] {
                $(if operation.flags & flags::COMPLEX != 0 {
                    return compute::<$re_src, $re_dst, 2, K>(operation, src, other, channels);
                })?
                compute::<$src, $dst, 1, K>(operation, src, other, channels)
            }
        }
    )+ };
}

pairs! {
    1 1: 4, 1 2: 8, 1 4: 4, 1 8: 2,
    2 1: 8, 2 2: 8, 2 4: 4, 2 8: 2,
    4 1: 4, 4 2: 4, 4 4: 4, 4 8: 2,
    8 1: 2, 8 2: 2, 8 4: 2, 8 8: 2 or 4 4: 4,
}

/// Implements [`Pair`] for complex elements alone.
macro_rules! complex_pairs {
    ($($src:literal $dst:literal: $re_src:literal $re_dst:literal),+ $(,)?) => { $(
        impl Pair for Sizes<$src, $dst> {
            const SRC: usize = $src;
            const DST: usize = $dst;

            #[inline(always)]
            fn whole<const K: usize>(
                operation: &Operation,
                src: [B16; K],
                other: [B16; K],
                channels: &[impl Channels; K],
            ) -> [B16; K] {
                const { assert!(unit($src, $dst) == 1) };
                compute::<$re_src, $re_dst, 2, K>(operation, src, other, channels)
            }

            #[inline(always)]
            fn single<const K: usize>(
                operation: &Operation,
                src: [B16; K],
                other: [B16; K],
                channels: &[impl Channels; K],
            ) -> [B16; K] {
                compute::<$re_src, $re_dst, 2, K>(operation, src, other, channels)
            }
        }
    )+ };
}

complex_pairs! { 8 16: 4 8, 16 8: 8 4, 16 16: 8 8 }

/// Calls a generic function for the size of the destination's elements, one of those that there are for sources of this size.
macro_rules! for_sizes {
    (1, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each 1, $params, $function $args, [1 2 4], 8)
    };
    (2, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each 2, $params, $function $args, [1 2 4], 8)
    };
    (4, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each 4, $params, $function $args, [1 2 4], 8)
    };
    (8, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each 8, $params, $function $args, [1 2 4 8], 16)
    };
    (16, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each 16, $params, $function $args, [8], 16)
    };
    (8 real, $params:expr, $function:ident $args:tt) => {
        for_sizes!(@each 8, $params, $function $args, [1 2 4], 8)
    };
    (@each $src:literal, $params:expr, $function:ident $args:tt, [$($dst:literal)+], $last:literal) => {
        match $params.operation.dst_bytes {
            $($dst => for_sizes!(@call $function, $src $dst, $args),)+
            _ => for_sizes!(@call $function, $src $last, $args),
        }
    };
    (@call $function:ident, $src:literal $dst:literal, ($($arg:expr),*)) => {
        $function::<$crate::arithmetic::pair::Sizes<$src, $dst>>($($arg),*)
    };
}
pub(super) use for_sizes;

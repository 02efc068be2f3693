//! Tiles of whose columns each thread takes two units that lie side by side, of a vector each: where vectors are kept, so that the loads of a warp meet in no
//! bank.
//!
//! Threads that stand side by side load vectors that are two apart. Shared memory serves eight threads at a time, and vectors `k` and `k + 8` of a column are
//! in the same banks, so that eight such loads would take two turns. Therefore the vectors of every second 128 bytes change places with their neighbours:
//! `k` is kept where [`Transposed`] keeps `k ^ (k / 8) mod 2`, and any eight vectors that are two apart are in all banks.

use super::column::slid;
use super::pair::Pair;
use crate::element::{Element, B16};
use crate::fast::rows::OnTheWayIn;
use crate::fast::spans::Transposed;
use crate::fast::VECTOR;
use crate::opaque::opaque;
use kernel_abi::arithmetic::{flags, ComputeMatrices};

/// Whether vectors change places where elements of the source have `src` bytes and results `dst`: if results are narrower; with something beside the source
/// threads have no registers for two units.
#[inline(always)]
pub const fn are_taken(src: usize, dst: usize, has_second: bool) -> bool {
    src >= 4 && dst < src && !has_second
}

/// In which place of a column a byte is kept.
#[inline(always)]
fn place(byte: u32) -> u32 {
    byte ^ ((byte / 8) & VECTOR)
}

/// Elements stay what they are on the way in, and are kept for threads that perhaps take two units. `BY_PAIRS` says that there is nothing beside the source but pairs of channels, which leave registers for two.
pub struct PerhapsByTwos<'a, const BY_PAIRS: bool> {
    /// What says whether they do.
    pub params: &'a ComputeMatrices,
}

impl<E: Element, const BY_PAIRS: bool> OnTheWayIn<E> for PerhapsByTwos<'_, BY_PAIRS> {
    const LOOKS_ONCE: bool = true;

    #[inline(always)]
    fn place(&self, byte: u32) -> u32 {
        let operation = &self.params.operation;
        // Looked at here, and not before the loads, which leave no register for it.
        let dst_bytes = opaque(operation.dst_bytes as u32) as usize;
        let has_second = !BY_PAIRS && operation.flags & (flags::OTHER | flags::CHANNELS) != 0;
        if are_taken(size_of::<E>(), dst_bytes, has_second) {
            place(byte)
        } else {
            byte
        }
    }
}

/// Elements stay what they are on the way in, and are kept for threads that take two units, or for such that take one.
pub struct Kept<const BY_TWOS: bool>;

impl<E: Element, const BY_TWOS: bool> OnTheWayIn<E> for Kept<BY_TWOS> {
    const LOOKS_ONCE: bool = true;

    #[inline(always)]
    fn place(&self, byte: u32) -> u32 {
        if BY_TWOS {
            place(byte)
        } else {
            byte
        }
    }
}

/// Where the vectors of a thread's units are kept.
#[derive(Clone, Copy)]
pub struct Twos<const PITCH: u32, const GROUP: u32> {
    tile: Transposed<PITCH, GROUP>,
    /// Whether the next four say where: in bytes from a column's start, two vectors that units may begin in, and two behind them.
    are_found: bool,
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

impl<const PITCH: u32, const GROUP: u32> Twos<PITCH, GROUP> {
    /// Those of units that begin in the two vectors at byte `earliest`, in columns that are kept like `col`; `are_found` says whether all do, and all are.
    #[inline(always)]
    pub fn new(tile: Transposed<PITCH, GROUP>, col: u32, earliest: u32, are_found: bool) -> Self {
        let kept = |k: u32| tile.address(col, place(earliest + k * VECTOR)) - col * PITCH;
        Twos { tile, are_found, a: kept(0), b: kept(1), c: kept(2), d: kept(3) }
    }

    /// The units of a column that begin at a byte.
    ///
    /// # Safety
    /// Those of [`slid`].
    #[inline(always)]
    pub unsafe fn units<P: Pair, E: Element, const K: usize>(
        self,
        col: u32,
        byte: u32,
    ) -> [B16; K] {
        let Twos { tile, are_found, a, b, c, d } = self;
        let address = |at: u32| {
            if !are_found {
                return tile.address(col, place(at));
            }
            let (first, second) = match (at - byte / VECTOR * VECTOR) / VECTOR {
                0 => (a, b),
                1 => (b, c),
                _ => (c, d),
            };
            col * PITCH + if byte & VECTOR == 0 { first } else { second }
        };
        // SAFETY: the caller's obligations.
        unsafe { slid::<P, K>(address, byte) }
    }
}

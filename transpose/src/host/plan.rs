//! From two host arrays and options to tiles, routes and the number of streams: pure arithmetic, without a device.

use super::options::HostOptions;
use super::stretches::in_memory_order;
use super::tiles::Tiles;
use crate::tensor::TensorLayout;
use crate::{Error, Result};
use std::fmt;

/// What memory of the device and of the ring starts at multiples of, in bytes.
pub(super) const ALIGNMENT: usize = 256;

/// Shorter stretches go through the ring even if the device could reach them: a copy of rows moves no more than some rows at a time.
const SHORTEST_ROW: usize = 256;

/// How one side of a copy gets over the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// From or to where the elements are.
    Direct,
    /// Through pinned memory, from and to which threads copy.
    Ring,
}

/// How a copy between two host arrays of one shape is done.
#[derive(Clone, Debug)]
pub(super) struct HostPlan {
    pub src: TensorLayout,
    pub dst: TensorLayout,
    pub tiles: Tiles,
    pub upload: Route,
    pub download: Route,
    /// Threads that move tiles; one is the caller's.
    pub threads: usize,
    /// Tiles that each has under way.
    pub depth: usize,
    /// Bytes of the largest tile, rounded up to what memory starts at multiples of.
    pub slot_bytes: usize,
}

/// One side: where the elements lie, and whether the device reaches them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub layout: &'a TensorLayout,
    pub pinned: bool,
}

/// What is taken where nothing was chosen.
struct Defaults {
    direct_tile: usize,
    ring_tile: usize,
    streams: usize,
    most_threads: usize,
    ring: usize,
}

const DEFAULTS: Defaults = Defaults {
    direct_tile: 16 << 20,
    ring_tile: 2 << 20,
    streams: 6,
    most_threads: 16,
    ring: 128 << 20,
};

impl HostPlan {
    /// A plan for arrays that are not empty, of elements of some bytes, with `cores` threads to be had.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`], and [`Error::HostBudget`] for less memory than one element takes.
    pub fn new(
        src: Side,
        dst: Side,
        element_bytes: usize,
        options: &HostOptions,
        cores: usize,
    ) -> Result<Self> {
        if src.layout.shape() != dst.layout.shape() {
            let (src, dst) = (src.layout.shape().to_vec(), dst.layout.shape().to_vec());
            return Err(Error::TensorShapeMismatch { src, dst });
        }
        let cut = |bytes: usize| {
            let elements = (bytes / element_bytes).max(1);
            Tiles::new(src.layout, dst.layout, elements, options.lean)
        };
        // By tiles as large as they may be; the budget makes them smaller, and stretches short, only where it must.
        let tiles = cut(or(options.tile_bytes, DEFAULTS.direct_tile));
        let route = |side: Side| -> Result<Route> {
            let run = in_memory_order(&tiles.get(0).of(side.layout)?)?.run() * element_bytes;
            let reaches = side.pinned && run >= SHORTEST_ROW;
            Ok(if reaches { Route::Direct } else { Route::Ring })
        };
        let (upload, download) = (route(src)?, route(dst)?);
        let rings = [upload, download].iter().filter(|&&route| route == Route::Ring).count();
        let (tile_bytes, threads, depth) = match rings {
            0 => (DEFAULTS.direct_tile, 1, or(options.streams, DEFAULTS.streams)),
            _ => (DEFAULTS.ring_tile, or(options.threads, cores.min(DEFAULTS.most_threads)), 2),
        };
        let wanted = or(options.tile_bytes, tile_bytes).max(element_bytes);
        let budget = Budget {
            device: or(options.device_memory, usize::MAX),
            ring: or(options.ring_memory, DEFAULTS.ring),
            rings,
            element_bytes,
        };
        let (threads, depth, tile_bytes) = budget.share(threads, depth, wanted)?;
        let tiles = cut(tile_bytes);
        let slot_bytes = (tiles.most_elements() * element_bytes).next_multiple_of(ALIGNMENT);
        // No more than there is work for.
        let threads = threads.min(tiles.count());
        let depth = depth.min(tiles.count().div_ceil(threads));
        let (src, dst) = (*src.layout, *dst.layout);
        Ok(HostPlan { src, dst, tiles, upload, download, threads, depth, slot_bytes })
    }

    /// Tiles that are under way at a time.
    pub fn slots(&self) -> usize {
        self.threads * self.depth
    }

    /// Bytes of device memory: each tile lies there twice.
    pub fn device_bytes(&self) -> usize {
        2 * self.slots() * self.slot_bytes
    }

    /// Bytes of the ring.
    pub fn ring_bytes(&self) -> usize {
        let sides = [self.upload, self.download];
        sides.iter().filter(|&&route| route == Route::Ring).count() * self.slots() * self.slot_bytes
    }
}

/// How much memory there is for tiles.
struct Budget {
    device: usize,
    ring: usize,
    /// Sides that go through the ring.
    rings: usize,
    element_bytes: usize,
}

impl Budget {
    /// The bytes that a tile may have if so many are under way.
    fn tile(&self, slots: usize) -> usize {
        let ring = self.ring.checked_div(self.rings).unwrap_or(usize::MAX);
        let each = (self.device / 2).min(ring) / slots;
        // Slots start at multiples of this.
        each - each % ALIGNMENT
    }

    /// Threads, tiles under way for each, and bytes of a tile. Where memory lacks, tiles become smaller down to a sixteenth, then there
    /// are fewer of them, and then they become smaller again.
    fn share(&self, threads: usize, depth: usize, wanted: usize) -> Result<(usize, usize, usize)> {
        let (mut threads, mut depth) = (threads, depth);
        let least = (wanted / 16).max(self.element_bytes);
        while self.tile(threads * depth) < least && threads * depth > 1 {
            if threads > 1 { threads -= 1 } else { depth -= 1 }
        }
        let tile = self.tile(threads * depth).min(wanted);
        if tile < self.element_bytes {
            let needed = 2 * self.element_bytes.next_multiple_of(ALIGNMENT);
            let limit = self.device.min(self.ring.saturating_mul(2));
            return Err(Error::HostBudget { needed, limit });
        }
        Ok((threads, depth, tile))
    }
}

/// What was chosen, or else the default.
fn or(chosen: usize, default: usize) -> usize {
    if chosen == 0 { default } else { chosen }
}

impl fmt::Display for HostPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostPlan { upload, download, threads, depth, slot_bytes, .. } = self;
        let tiles = self.tiles.count();
        write!(
            f,
            "{tiles} tiles of up to {slot_bytes} bytes, {threads} × {depth} under way, up {upload:?}, down {download:?}"
        )
    }
}

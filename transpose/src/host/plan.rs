//! From host arrays and options to a schedule, routes and the number of streams: pure arithmetic, without a device.

use super::options::{Bus, HostOptions};
use super::schedule::Schedule;
use super::stretches::in_memory_order;
use super::tiles::Tiles;
use crate::tensor::TensorLayout;
use crate::{Error, Result};

/// What memory of the device and of the ring starts at multiples of, in bytes.
pub(super) const ALIGNMENT: usize = 256;

/// Shorter stretches go through the ring even if the device could reach them: a copy of rows moves no more than some rows at a time.
const SHORTEST_ROW: usize = 256;

/// How one side of a copy gets over the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// From or to where the elements are.
    Direct(Bus),
    /// Through pinned memory, from and to which threads copy.
    Ring,
}

/// How host arrays are moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPlan {
    pub schedule: Schedule,
    pub element_bytes: usize,
    pub upload: Route,
    pub download: Route,
    /// Threads that do steps; one is the caller's.
    pub threads: usize,
    /// Steps that each has under way.
    pub depth: usize,
    /// Bytes of the largest step.
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
    /// The least and the most bytes of a tile that goes directly.
    direct_tile: [usize; 2],
    /// Tiles that an array has at least, if they are no smaller than that.
    direct_tiles: usize,
    ring_tile: usize,
    streams: usize,
    most_threads: usize,
    ring: usize,
}

const DEFAULTS: Defaults = Defaults {
    // Measured on an H200 with 4 GiB: 256 MiB took 104 ms, 16 MiB to 128 MiB took 128, for rows of 32 KiB are looked up in fewer steps.
    direct_tile: [16 << 20, 256 << 20],
    direct_tiles: 16,
    ring_tile: 4 << 20,
    streams: 4,
    most_threads: 32,
    ring: 512 << 20,
};

impl Defaults {
    /// The bytes of a tile of an array of so many.
    fn direct(&self, array: usize) -> usize {
        let [least, most] = self.direct_tile;
        (array / self.direct_tiles).next_power_of_two().clamp(least, most)
    }
}

impl HostPlan {
    /// From one array to another, neither of which is empty, with `cores` threads to be had.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`], and [`Error::HostBudget`] for less memory than one element takes.
    pub fn between(
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
        let bytes = src.layout.len() * element_bytes;
        let tiles = cut(or(options.tile_bytes, DEFAULTS.direct(bytes)));
        let route = |side: Side, bus: Bus| -> Result<Route> {
            let run = in_memory_order(&tiles.get(0).of(side.layout)?)?.run() * element_bytes;
            let reaches = side.pinned && run >= SHORTEST_ROW;
            Ok(if reaches { Route::Direct(bus) } else { Route::Ring })
        };
        let upload = route(src, measured(options.upload, Bus::Engine))?;
        let download = route(dst, measured(options.download, Bus::Engine))?;
        let share = Share::of([upload, download], bytes, element_bytes, options, cores)?;
        let (src, dst, tiles) = (*src.layout, *dst.layout, cut(share.bytes));
        let schedule = Schedule::Tiles { src, dst, tiles };
        Ok(share.plan(schedule, [upload, download], element_bytes))
    }

    /// For a square of `side` > 0 rows in its own memory.
    ///
    /// # Errors
    /// [`Error::HostBudget`].
    pub fn square(
        side: usize,
        pinned: bool,
        element_bytes: usize,
        options: &HostOptions,
        cores: usize,
    ) -> Result<Self> {
        let routes = in_place(pinned, options);
        // A step is a pair of tiles.
        let share =
            Share::of(routes, side * side * element_bytes, 2 * element_bytes, options, cores)?;
        let mut tile = (share.bytes / 2 / element_bytes).isqrt().clamp(1, side);
        // Two moves have to fit with their alignment.
        while tile > 1 && 2 * aligned(tile * tile, element_bytes) > share.bytes {
            tile -= 1;
        }
        if tile >= 64 {
            tile -= tile % 64;
        }
        Ok(share.plan(Schedule::Pairs { side, tile }, routes, element_bytes))
    }

    /// For matrices of as many rows as fit a slot, and of `cols` columns, one behind the other, each in its own memory. There are
    /// `rows` rows in all; those of the last matrix, which would have fewer, are left out.
    ///
    /// # Errors
    /// [`Error::HostBudget`].
    pub fn panels(
        rows: usize,
        cols: usize,
        pinned: bool,
        element_bytes: usize,
        options: &HostOptions,
        cores: usize,
    ) -> Result<Self> {
        let routes = in_place(pinned, options);
        let row = cols * element_bytes;
        let wanted = HostOptions { tile_bytes: options.tile_bytes.max(row), ..*options };
        let share = Share::of(routes, rows * row, row, &wanted, cores)?;
        let of_one = (share.bytes / row).min(rows);
        let schedule = Schedule::Panels { rows: of_one, cols, count: rows / of_one };
        Ok(share.plan(schedule, routes, element_bytes))
    }

    /// Steps that are under way at a time.
    pub fn slots(&self) -> usize {
        self.threads * self.depth
    }

    /// Bytes of device memory: what a step moves lies there twice.
    pub fn device_bytes(&self) -> usize {
        2 * self.slots() * self.slot_bytes
    }

    /// Bytes of the ring.
    pub fn ring_bytes(&self) -> usize {
        let sides = [self.upload, self.download];
        sides.iter().filter(|&&route| route == Route::Ring).count() * self.slots() * self.slot_bytes
    }
}

/// The bytes that a move takes of a slot.
pub(super) fn aligned(elements: usize, element_bytes: usize) -> usize {
    (elements * element_bytes).next_multiple_of(ALIGNMENT)
}

/// What the memory and the threads that there are allow.
struct Share {
    threads: usize,
    depth: usize,
    /// Of a slot.
    bytes: usize,
}

impl Share {
    /// For an array of so many bytes, and steps of `least` bytes at least.
    fn of(
        routes: [Route; 2],
        array: usize,
        least: usize,
        options: &HostOptions,
        cores: usize,
    ) -> Result<Self> {
        let rings = routes.iter().filter(|&&route| route == Route::Ring).count();
        let (bytes, threads, depth) = match rings {
            0 => (DEFAULTS.direct(array), 1, or(options.streams, DEFAULTS.streams)),
            _ => (DEFAULTS.ring_tile, or(options.threads, cores.min(DEFAULTS.most_threads)), 2),
        };
        let least = least.next_multiple_of(ALIGNMENT);
        let wanted = or(options.tile_bytes, bytes).max(least);
        let budget = Budget {
            device: or(options.device_memory, usize::MAX),
            ring: or(options.ring_memory, DEFAULTS.ring),
            rings,
        };
        budget.share(threads, depth, wanted, least)
    }

    fn plan(self, schedule: Schedule, [upload, download]: [Route; 2], element: usize) -> HostPlan {
        let slot_bytes = schedule.largest().iter().map(|&move_| aligned(move_, element)).sum();
        // No more than there is work for.
        let threads = self.threads.min(schedule.count());
        let depth = self.depth.min(schedule.count().div_ceil(threads));
        HostPlan { schedule, element_bytes: element, upload, download, threads, depth, slot_bytes }
    }
}

/// How much memory there is.
struct Budget {
    device: usize,
    ring: usize,
    /// Sides that go through the ring.
    rings: usize,
}

impl Budget {
    /// The bytes that a slot may have if there are so many.
    fn slot(&self, slots: usize) -> usize {
        let ring = self.ring.checked_div(self.rings).unwrap_or(usize::MAX);
        let each = (self.device / 2).min(ring) / slots;
        each - each % ALIGNMENT
    }

    /// Where memory lacks, slots become smaller down to a sixteenth, then there are fewer of them, and then they become smaller again.
    fn share(&self, threads: usize, depth: usize, wanted: usize, least: usize) -> Result<Share> {
        let (mut threads, mut depth) = (threads, depth);
        let enough = (wanted / 16).max(least);
        while self.slot(threads * depth) < enough && threads * depth > 1 {
            if threads > 1 { threads -= 1 } else { depth -= 1 }
        }
        let bytes = self.slot(threads * depth).min(wanted);
        if bytes < least {
            let limit = self.device.min(self.ring.saturating_mul(2));
            return Err(Error::HostBudget { needed: 2 * least, limit });
        }
        Ok(Share { threads, depth, bytes })
    }
}

/// The routes of moves in one memory: nothing is stored before all is loaded, so not both by the same kernel.
fn in_place(pinned: bool, options: &HostOptions) -> [Route; 2] {
    let upload = match measured(options.upload, Bus::Engine) {
        Bus::Fused => Bus::Kernel,
        other => other,
    };
    match pinned {
        true => [upload, measured(options.download, Bus::Engine)].map(Route::Direct),
        false => [Route::Ring; 2],
    }
}

/// Who was chosen, or else who was measured to be the fastest.
fn measured(chosen: Bus, fastest: Bus) -> Bus {
    if chosen == Bus::Auto { fastest } else { chosen }
}

/// What was chosen, or else the default.
fn or(chosen: usize, default: usize) -> usize {
    if chosen == 0 { default } else { chosen }
}

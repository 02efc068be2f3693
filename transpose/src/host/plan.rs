//! From host arrays and options to a schedule, routes and the number of streams: pure arithmetic, without a device.

use super::look_up::LOOK_UP;
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

/// The most that is under way at a time, whatever was chosen: from so many on, fewer are tried one by one until they fit the memory.
const MOST_STREAMS: usize = 1 << 12;

/// The least bytes of an array, and of the device's limit, with which kernels look up pages for the copy engines: what an L2 cache has.
const LEAST_LOOKED_UP: usize = 32 << 20;

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
    /// Threads that do all there is to do; one is the caller's.
    pub threads: usize,
    /// Shares of a step that threads bring to the ring and from it side by side.
    pub shares: usize,
    /// Steps that are under way at a time: each has a slot of the ring, where there is one.
    pub slots: usize,
    /// Places of the device's memory for what comes up, and for what goes down: each holds a step.
    pub places: [usize; 2],
    /// Bytes of the largest step.
    pub slot_bytes: usize,
    /// Whether kernels look up pages for the copy engines.
    pub looks_up: bool,
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
    /// Places for what goes down: one that goes, and one that is turned. More were no faster.
    direct_places: usize,
    ring_tile: usize,
    ring_slots: usize,
    /// The most places for what goes down behind a ring.
    ring_places: usize,
    /// The least bytes of a share.
    share: usize,
    most_threads: usize,
    ring: usize,
}

const DEFAULTS: Defaults = Defaults {
    // Measured on an H200 with 4 GiB: 256 MiB took 104 ms, 16 MiB to 128 MiB took 128, for rows of 32 KiB are looked up in fewer steps.
    direct_tile: [16 << 20, 256 << 20],
    direct_tiles: 16,
    direct_places: 2,
    // Measured beside, with 32 threads: 4 GiB took 112 ms; 4 tiles 133, 10 tiles 126; 4 of 16 MiB 117, 8 of 4 MiB 154; 16 of 16 MiB, which
    // leave the processor's cache, 164.
    ring_tile: 8 << 20,
    ring_slots: 6,
    ring_places: 4,
    share: 64 << 10,
    most_threads: 32,
    ring: 128 << 20,
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

    /// Bytes of device memory: the places for steps, and behind them what is read to look up pages.
    pub fn device_bytes(&self) -> usize {
        let places: usize = self.places.iter().sum();
        places * self.slot_bytes + if self.looks_up { LOOK_UP } else { 0 }
    }

    /// Bytes of the ring.
    pub fn ring_bytes(&self) -> usize {
        let sides = [self.upload, self.download];
        sides.iter().filter(|&&route| route == Route::Ring).count() * self.slots * self.slot_bytes
    }
}

/// The bytes that a move takes of a slot.
pub(super) fn aligned(elements: usize, element_bytes: usize) -> usize {
    (elements * element_bytes).next_multiple_of(ALIGNMENT)
}

/// What the memory and the threads that there are allow.
struct Share {
    threads: usize,
    slots: usize,
    places: [usize; 2],
    /// Of a slot.
    bytes: usize,
    looks_up: bool,
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
        let options = &HostOptions { streams: options.streams.min(MOST_STREAMS), ..*options };
        let rings = routes.iter().filter(|&&route| route == Route::Ring).count();
        let least = least.next_multiple_of(ALIGNMENT);
        // Steps that are small leave the cache as it is.
        let device = or(options.device_memory, usize::MAX);
        let looks_up = rings < 2 && device.min(array) >= LEAST_LOOKED_UP;
        let budget = Budget {
            device: device - if looks_up { LOOK_UP } else { 0 },
            looks_up,
            ring: or(options.ring_memory, DEFAULTS.ring),
            rings,
        };
        if rings == 0 {
            let wanted = or(options.tile_bytes, DEFAULTS.direct(array)).max(least);
            return budget.share(1, or(options.streams, DEFAULTS.direct_places), wanted, least);
        }
        let wanted = or(options.tile_bytes, DEFAULTS.ring_tile).max(least);
        let threads = or(options.threads, cores.min(DEFAULTS.most_threads));
        budget.share(threads, or(options.streams, DEFAULTS.ring_slots), wanted, least)
    }

    fn plan(self, schedule: Schedule, [upload, download]: [Route; 2], element: usize) -> HostPlan {
        let slot_bytes: usize =
            schedule.largest().iter().map(|&elements| aligned(elements, element)).sum();
        // No more than there is work for.
        let steps = schedule.count();
        let shares = (slot_bytes / DEFAULTS.share).clamp(1, self.threads);
        let threads = self.threads.min(steps.saturating_mul(shares));
        let (slots, places) = (self.slots.min(steps), self.places.map(|places| places.min(steps)));
        HostPlan {
            schedule,
            element_bytes: element,
            upload,
            download,
            threads,
            shares,
            slots,
            places,
            slot_bytes,
            looks_up: self.looks_up,
        }
    }
}

/// How much memory there is.
struct Budget {
    device: usize,
    looks_up: bool,
    ring: usize,
    /// Sides that go through the ring.
    rings: usize,
}

impl Budget {
    /// With so many steps under way, the places for what comes up and for what goes down; where there is no ring, other steps are only queued.
    ///
    /// What comes up leaves its place as soon as it is turned, and is brought a little faster than what goes down, whose way the requests for it
    /// take too. So one place less is enough for it.
    fn places(&self, streams: usize) -> [usize; 2] {
        let down = if self.rings == 0 { streams } else { streams.min(DEFAULTS.ring_places) };
        [(down - 1).max(1), down]
    }

    /// The bytes that a slot may have if there are so many.
    fn slot(&self, streams: usize) -> usize {
        let ring = self.ring.checked_div(self.rings).unwrap_or(usize::MAX) / streams;
        let places: usize = self.places(streams).iter().sum();
        let each = (self.device / places).min(ring);
        each - each % ALIGNMENT
    }

    /// Where memory lacks, slots become smaller down to a sixteenth, then there are fewer of them, and then they become smaller again.
    fn share(&self, threads: usize, streams: usize, wanted: usize, least: usize) -> Result<Share> {
        let mut streams = streams;
        let enough = (wanted / 16).max(least);
        while self.slot(streams) < enough && streams > 1 {
            streams -= 1;
        }
        let bytes = self.slot(streams).min(wanted);
        if bytes < least {
            let limit = self.device.min(self.ring.saturating_mul(2));
            return Err(Error::HostBudget { needed: 2 * least, limit });
        }
        let places = self.places(streams);
        let slots = if self.rings == 0 { 2 * streams } else { streams };
        Ok(Share { threads, slots, places, bytes, looks_up: self.looks_up })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transposed(rows: usize, cols: usize, pinned: [bool; 2], options: &HostOptions) -> HostPlan {
        let src = TensorLayout::contiguous(&[rows, cols], 4).unwrap().t();
        let dst = TensorLayout::contiguous(&[cols, rows], 4).unwrap();
        let side = |layout, pinned| Side { layout, pinned };
        HostPlan::between(side(&src, pinned[0]), side(&dst, pinned[1]), 4, options, 32).unwrap()
    }

    /// A limit of 1 GiB leaves the tiles that are the fastest.
    #[test]
    fn a_gibibyte_is_enough() {
        let bytes = |plan: HostPlan| (plan.slot_bytes, plan.device_bytes());
        for (rows, cols) in [(32768, 32768), (65536, 65536), (16384, 98304)] {
            let free = transposed(rows, cols, [true; 2], &HostOptions::default());
            let limited = HostOptions::default().device_memory(1 << 30);
            let limited = transposed(rows, cols, [true; 2], &limited);
            assert_eq!(bytes(limited), bytes(free));
            assert_eq!(bytes(free), (256 << 20, (768 << 20) + LOOK_UP));
        }
    }

    proptest! {
        /// No plan takes more than it may.
        #[test]
        fn limits_are_kept(
            rows in 1..100_000usize,
            cols in 1..100_000usize,
            pinned in any::<[bool; 2]>(),
            device in 1024..3_000_000_000usize,
            ring in 1024..300_000_000usize,
            streams in 0..9usize,
        ) {
            let options =
                HostOptions::default().device_memory(device).ring_memory(ring).streams(streams);
            let plan = transposed(rows, cols, pinned, &options);
            prop_assert!(plan.device_bytes() <= device);
            prop_assert!(plan.ring_bytes() <= ring);
            if rows == cols {
                let plan = HostPlan::square(rows, pinned[0], 4, &options, 32).unwrap();
                prop_assert!(plan.device_bytes() <= device && plan.ring_bytes() <= ring);
            }
        }
    }
}

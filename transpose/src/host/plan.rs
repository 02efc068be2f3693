//! From host arrays and options to a schedule, routes, and what of everything is taken. Pure arithmetic.

use super::budget::{DEFAULTS, Share, aligned, or};
use super::look_up::LOOK_UP;
use super::options::{Bus, HostOptions};
use super::schedule::{SLICE, Schedule};
use super::stores::Stores;
use super::stretches::in_memory_order;
use super::tiles::Tiles;
use crate::tensor::TensorLayout;
use crate::{Error, Result};

/// Shorter stretches go through the ring even if the device could reach them: a copy of rows moves no more than some rows at a time.
const SHORTEST_ROW: usize = 256;

/// Slices of a step, for cores beside the device: 32 MiB each where a step has 256.
const SLICES: usize = 8;

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
    /// Threads that take pieces of steps from the back, and move them without the device; they are no part of `threads`.
    pub cores: usize,
    /// Slices of a step of which cores take one at a time; the device takes several together.
    pub slices: usize,
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
        let share = Share::of(rings([upload, download]), bytes, element_bytes, options, cores)?;
        let (src, dst, tiles) = (*src.layout, *dst.layout, cut(share.bytes));
        // Pages that the tile before had too would be looked up in vain: kernels know them still, and the cache does not.
        let apart = rings([upload, download]) < 2;
        let schedule = Schedule::Tiles { src, dst, tiles, apart };
        let plan = Self::of(share, schedule, [upload, download], element_bytes);
        // No more than there is work for.
        let pieces = bytes.div_ceil(plan.stores().tile());
        let cores = options.cpu_threads.min(pieces);
        // What is queued, no core can take: so little that the bus is busy still.
        let queued = plan.places[1] + 1;
        let direct = rings([upload, download]) == 0;
        let slots = if cores > 0 && direct { plan.slots.min(queued) } else { plan.slots };
        let corner = tiles.get(tiles.count() - 1).of(&dst)?;
        let longest = corner.shape().iter().copied().max().unwrap_or(1);
        let slices = if cores > 0 { (longest / SLICE).clamp(1, SLICES) } else { 1 };
        Ok(HostPlan { cores, slots, slices, ..plan })
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
        let share = Share::of(
            rings(routes),
            side * side * element_bytes,
            2 * aligned(1, element_bytes),
            options,
            cores,
        )?;
        let mut tile = (share.bytes / 2 / element_bytes).isqrt().clamp(1, side);
        // Two moves have to fit with their alignment.
        while tile > 1 && 2 * aligned(tile * tile, element_bytes) > share.bytes {
            tile -= 1;
        }
        if tile >= 64 {
            tile -= tile % 64;
        }
        Ok(Self::of(share, Schedule::Pairs { side, tile }, routes, element_bytes))
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
        let share = Share::of(rings(routes), rows * row, row, options, cores)?;
        let of_one = (share.bytes / row).min(rows);
        let schedule = Schedule::Panels { rows: of_one, cols, count: rows / of_one };
        Ok(Self::of(share, schedule, routes, element_bytes))
    }

    /// A plan for a schedule of steps, which fit a slot of the share.
    fn of(
        share: Share,
        schedule: Schedule,
        [upload, download]: [Route; 2],
        element_bytes: usize,
    ) -> Self {
        let bytes = schedule.largest().into_iter().map(|elements| aligned(elements, element_bytes));
        let slot_bytes: usize = bytes.sum();
        // No more than there is work for.
        let steps = schedule.count();
        let shares = (slot_bytes / DEFAULTS.share).clamp(1, share.threads);
        HostPlan {
            schedule,
            element_bytes,
            upload,
            download,
            threads: share.threads.min(steps.saturating_mul(shares)),
            cores: 0,
            slices: 1,
            shares,
            slots: share.slots.min(steps),
            places: share.places.map(|places| places.min(steps)),
            slot_bytes,
            looks_up: share.looks_up,
        }
    }

    /// How cores write what this brings.
    pub fn stores(&self) -> Stores {
        Stores::of(self.schedule.elements() * self.element_bytes)
    }

    /// Bytes of device memory: the places for steps, and behind them what is read to look up pages.
    pub fn device_bytes(&self) -> usize {
        let places: usize = self.places.iter().sum();
        places * self.slot_bytes + if self.looks_up { LOOK_UP } else { 0 }
    }

    /// Bytes of the ring.
    pub fn ring_bytes(&self) -> usize {
        rings([self.upload, self.download]) * self.slots * self.slot_bytes
    }
}

/// Sides that go through the ring.
fn rings(routes: [Route; 2]) -> usize {
    routes.iter().filter(|&&route| route == Route::Ring).count()
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

    /// What is queued for the device no core can take; and cores take no work where there is none.
    #[test]
    fn cores_leave_the_rest_as_it_is() {
        for pinned in [[true; 2], [false; 2], [true, false]] {
            let alone = transposed(32768, 32768, pinned, &HostOptions::default());
            let beside = HostOptions::default().cpu_threads(12);
            let both = transposed(32768, 32768, pinned, &beside);
            assert_eq!((alone.cores, both.cores), (0, 12));
            assert_eq!((both.places, both.slot_bytes), (alone.places, alone.slot_bytes));
            if pinned == [true; 2] {
                assert_eq!((alone.slots, both.slots), (4, 3));
            } else {
                assert_eq!((alone.threads, both.threads, both.slots), (32, 20, alone.slots));
            }
            let many = HostOptions::default().cpu_threads(usize::MAX);
            assert_eq!(transposed(30, 20, pinned, &many).cores, 1);
            assert_eq!(HostPlan::square(100, true, 4, &many, 32).unwrap().cores, 0);
        }
    }

    /// Panels of one row are what the matrix is: all would be left to the host.
    #[test]
    fn panels_have_many_rows() {
        let gigabyte = HostOptions::default().device_memory(1 << 30);
        for (rows, cols, pinned) in
            [(65536, 16384, true), (65536, 16384, false), (1 << 22, 3, true)]
        {
            let plan = HostPlan::panels(rows, cols, pinned, 4, &gigabyte, 32).unwrap();
            let Schedule::Panels { rows: of_one, .. } = plan.schedule else { panic!() };
            assert!(of_one >= 64, "{rows} × {cols}: {of_one}");
        }
    }

    /// What looks up pages takes memory, and is left out where there is none left for it.
    #[test]
    fn nothing_is_refused_for_what_could_be_left_out() {
        let least = HostOptions::default().device_memory(32 << 20);
        let plan = HostPlan::panels(8, 4 << 20, true, 4, &least, 8).unwrap();
        assert!(!plan.looks_up && plan.device_bytes() <= 32 << 20);
    }

    /// An element, a pair of them and a row that are larger than the ring is by default.
    #[test]
    fn no_limit_is_what_is_needed() {
        let none = HostOptions::default();
        let large = 80 << 20;
        let [src, dst] =
            [[1, 3], [3, 1]].map(|shape| TensorLayout::contiguous(&shape, large).unwrap());
        let (src, dst) = (src.t(), dst);
        let sides = [&src, &dst].map(|layout| Side { layout, pinned: false });
        for plan in [
            HostPlan::between(sides[0], sides[1], large, &none, 8).unwrap(),
            HostPlan::square(3, false, large, &none, 8).unwrap(),
            HostPlan::panels(8, 40 << 20, false, 4, &none, 8).unwrap(),
        ] {
            // A slot for each side.
            assert_eq!((plan.slots, plan.ring_bytes()), (1, 2 * plan.slot_bytes));
        }
    }

    proptest! {
        /// No plan takes more than it may.
        #[test]
        fn limits_are_kept(
            rows in 1..100_000usize,
            cols in 1..100_000usize,
            pinned in any::<[bool; 2]>(),
            device in prop_oneof![1..2048usize, 1024..3_000_000_000usize],
            ring in prop_oneof![1..2048usize, 1024..300_000_000usize],
            streams in 0..9usize,
        ) {
            let options =
                HostOptions::default().device_memory(device).ring_memory(ring).streams(streams);
            let [src, dst] = [[rows, cols], [cols, rows]]
                .map(|shape| TensorLayout::contiguous(&shape, 4).unwrap());
            let (src, dst) = (src.t(), dst);
            let side = |layout, pinned| Side { layout, pinned };
            let sides = (side(&src, pinned[0]), side(&dst, pinned[1]));
            let square = HostPlan::square(rows, pinned[0], 4, &options, 32);
            for plan in [HostPlan::between(sides.0, sides.1, 4, &options, 32), square] {
                match plan {
                    Ok(plan) => {
                        prop_assert!(plan.device_bytes() <= device && plan.ring_bytes() <= ring);
                    }
                    Err(Error::HostBudget { option, needed, limit }) => {
                        let of_option = if option == "device_memory" { device } else { ring };
                        prop_assert!(limit < needed && limit == of_option, "{option}");
                    }
                    Err(error) => prop_assert!(false, "{error}"),
                }
            }
        }
    }
}

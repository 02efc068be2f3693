//! How much of everything a move takes: bytes of a tile, places, slots and threads, within what it may have. Pure arithmetic.

use super::look_up::LOOK_UP;
use super::options::HostOptions;
use crate::{Error, Result};

/// What memory of the device and of the ring starts at multiples of, in bytes.
pub(super) const ALIGNMENT: usize = 256;

/// The most that is under way at a time, whatever was chosen: from so many on, fewer are tried one by one until they fit the memory.
const MOST_STREAMS: usize = 1 << 12;

/// The least bytes of an array, and of the device's limit, with which kernels look up pages for the copy engines: what an L2 cache has.
const LEAST_LOOKED_UP: usize = 32 << 20;

/// What is taken where nothing was chosen.
pub(super) struct Defaults {
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
    pub share: usize,
    most_threads: usize,
    ring: usize,
}

pub(super) const DEFAULTS: Defaults = Defaults {
    // Measured on an H200 with 4 GiB: 256 MiB took 93 ms, 144 MiB 97, 64 MiB 102, 16 MiB 110, whose rows are shorter.
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
    pub fn direct(&self, array: usize) -> usize {
        let [least, most] = self.direct_tile;
        (array / self.direct_tiles).next_power_of_two().clamp(least, most)
    }
}

/// What the memory and the threads that there are allow.
pub(super) struct Share {
    pub threads: usize,
    /// Steps under way at a time.
    pub slots: usize,
    /// Places of the device's memory for what comes up, and for what goes down.
    pub places: [usize; 2],
    /// Bytes of a slot, and of a place.
    pub bytes: usize,
    /// Whether kernels look up pages for the copy engines.
    pub looks_up: bool,
}

impl Share {
    /// For an array of so many bytes, of which so many sides go through the ring, and steps of `least` bytes at least.
    pub fn of(
        rings: usize,
        array: usize,
        least: usize,
        options: &HostOptions,
        cores: usize,
    ) -> Result<Self> {
        let options = &HostOptions { streams: options.streams.min(MOST_STREAMS), ..*options };
        let least = least.next_multiple_of(ALIGNMENT);
        // Steps that are small leave the cache as it is.
        let device = or(options.device_memory, usize::MAX);
        let fits = device.saturating_sub(LOOK_UP) >= least.saturating_mul(2);
        let looks_up = rings < 2 && device.min(array) >= LEAST_LOOKED_UP && fits;
        let budget = Budget {
            device: device - if looks_up { LOOK_UP } else { 0 },
            looks_up,
            // Nobody has asked for less than one step takes.
            ring: or(options.ring_memory, DEFAULTS.ring.max(least.saturating_mul(rings))),
            rings,
        };
        if rings == 0 {
            let wanted = or(options.tile_bytes, DEFAULTS.direct(array)).max(least);
            return budget.share(1, or(options.streams, DEFAULTS.direct_places), wanted, least);
        }
        let wanted = or(options.tile_bytes, DEFAULTS.ring_tile).max(least);
        // Threads that move pieces beside have cores of their own.
        let left = cores.saturating_sub(options.cpu_threads).max(1);
        let threads = or(options.threads, left.min(DEFAULTS.most_threads));
        budget.share(threads, or(options.streams, DEFAULTS.ring_slots), wanted, least)
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
            // One step takes a place for what comes up and one for what goes down, and a slot for each side that goes through the ring.
            let takes = |slots: usize| least.saturating_mul(slots);
            let (option, needed, limit) = match takes(2) > self.device {
                true => ("device_memory", takes(2), self.device),
                false => ("ring_memory", takes(self.rings), self.ring),
            };
            return Err(Error::HostBudget { option, needed, limit });
        }
        let places = self.places(streams);
        let slots = if self.rings == 0 { 2 * streams } else { streams };
        Ok(Share { threads, slots, places, bytes, looks_up: self.looks_up })
    }
}

/// The bytes that a move takes of a slot.
pub(super) fn aligned(elements: usize, element_bytes: usize) -> usize {
    (elements * element_bytes).next_multiple_of(ALIGNMENT)
}

/// What was chosen, or else the default.
pub(super) fn or(chosen: usize, default: usize) -> usize {
    if chosen == 0 { default } else { chosen }
}

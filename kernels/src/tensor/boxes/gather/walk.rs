//! All that a thread stores of a box's stretches of the destination, one after the other, for kernels that have something beside what they store: the units of [`units`](super::units) and
//! [`runs`](super::runs), single words, and ends.

use super::super::place::Place;
use super::super::tables::Tables;
use super::places::Places;
use super::runs::unit_of_runs;
use super::units::PAIRED;
use super::{ahead, unit};
use crate::element::{Element, B16};
use crate::opaque::opaque;
use crate::shared::load_u16;
use crate::tensor::axes::{divide, steps};
use cuda_std::thread;
use kernel_abi::fast::SECTOR;
use kernel_abi::tensor::{Boxes, BOX_THREADS};

/// What is done with what a thread stores.
pub trait Visitor: Copy {
    /// Where in shared memory that is which is beside the first word of a stretch, which goes to an address of the destination.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is such a stretch.
    unsafe fn beside(self, target: u32, to: u64) -> u32;

    /// Stores the first `bytes` bytes of a vector to an address of the destination, where that is in shared memory which is beside them.
    ///
    /// # Safety
    /// They are the destination's, and this thread's.
    unsafe fn store(self, to: u64, bytes: usize, beside: u32, unit: B16);
}

/// Where a box's stretches of the destination start, there and in shared memory.
#[derive(Clone, Copy)]
struct Stretches<'a, E> {
    dst: *mut E,
    skew: u32,
    params: &'a Boxes,
    tables: Tables,
}

/// A stretch: where it starts in the destination, and in shared memory.
#[derive(Clone, Copy)]
struct Stretch<E> {
    to: *mut E,
    start: u32,
}

impl<E: Element> Stretches<'_, E> {
    /// A stretch.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is such a stretch.
    #[inline(always)]
    unsafe fn at(self, target: u32) -> Stretch<E> {
        let Stretches { dst, skew, tables, .. } = self;
        // SAFETY: the caller's obligations.
        unsafe {
            let offset = u64::load_shared(tables.targets + target * Tables::WIDE);
            let start = u32::load_shared(tables.starts + target * Tables::NARROW) + skew;
            Stretch { to: dst.wrapping_byte_add(offset as usize), start }
        }
    }

    /// The stretch that is so many behind another one, which it is found by if all are `EVEN`, each as far from the one before.
    ///
    /// # Safety
    /// That of [`at`](Self::at), if there is such a stretch.
    #[inline(always)]
    unsafe fn behind<const EVEN: bool>(
        self,
        stretch: Stretch<E>,
        target: u32,
        every: u32,
        targets: u32,
    ) -> Stretch<E> {
        if EVEN {
            let digit = &self.params.targets.digits[0];
            let to = stretch.to.wrapping_add(steps(every, digit.outside) as usize);
            return Stretch { to, start: stretch.start + every * digit.inside as u32 };
        }
        if target < targets {
            // SAFETY: the caller's obligations.
            return unsafe { self.at(target) };
        }
        stretch
    }
}

/// Visits all that this thread stores of a box, of which the image has words like `I`: a unit is as many of these as it has words of the destination.
///
/// # Safety
/// Those of [`gather`](super::gather); there are no runs unless both are alike.
#[inline(always)]
pub unsafe fn walk<E: Element, I: Element>(
    dst: *mut E,
    skew: u32,
    params: &Boxes,
    tables: Tables,
    place: &Place,
    visitor: impl Visitor,
) {
    let stretches = Stretches { dst, skew, params, tables };
    let (targets, bytes) = (place.targets, place.target_words * size_of::<E>() as u32);
    // SAFETY: the caller's obligations.
    unsafe {
        if size_of::<E>() < 4 && params.singly != 0 {
            return walk_words::<E, I>(stretches, targets, place.target_words, visitor);
        }
        let mut unit = unit::<E>();
        if size_of::<E>() >= 4 || size_of::<I>() != size_of::<E>() || params.run == 0 {
            let (are_even, are_pairs) = (params.targets.count <= 1, params.lanes as u32 > PAIRED);
            match (are_even, size_of::<E>() < 4 && are_pairs) {
                (true, false) => walk_units::<E, I, true, 1>(stretches, [targets, bytes], visitor),
                (false, false) => {
                    walk_units::<E, I, false, 1>(stretches, [targets, bytes], visitor)
                }
                (true, true) => walk_units::<E, I, true, 2>(stretches, [targets, bytes], visitor),
                (false, true) => walk_units::<E, I, false, 2>(stretches, [targets, bytes], visitor),
            }
        } else if (params.run as u32) < 8 {
            walk_runs::<E, 1>(stretches, [targets, bytes], visitor);
        } else {
            unit = 8;
            walk_runs::<E, 2>(stretches, [targets, bytes], visitor);
        }
        let are_units = bytes.is_multiple_of(unit) && params.ahead == 0;
        if size_of::<E>() < 4 && !are_units {
            walk_ends::<E, I>(stretches, targets, [bytes, unit], visitor);
        }
    }
}

/// Visits whole units, word by word: each thread the same ones of some stretches, `UNITS` of a stretch at a time.
///
/// # Safety
/// Those of [`walk`].
#[inline(always)]
unsafe fn walk_units<E: Element, I: Element, const EVEN: bool, const UNITS: usize>(
    stretches: Stretches<E>,
    [targets, bytes]: [u32; 2],
    visitor: impl Visitor,
) {
    let unit = unit::<E>();
    let lanes = stretches.params.lanes as u32 + 1 - UNITS as u32;
    // What is worked out of it for a box need not be kept in registers for the next.
    let number = opaque(thread::thread_idx_x());
    let (first, every) = (number >> lanes, BOX_THREADS >> lanes);
    if first >= targets {
        return;
    }
    let mut at = (number & ((1 << lanes) - 1)) * unit;
    let apart = unit << lanes;
    while at + unit <= bytes {
        // SAFETY: the caller's obligations.
        let (mut stretch, mut target) = unsafe { (stretches.at(first), first) };
        let (mut places, mut known) = ([Places([0; 4]); UNITS], u32::MAX);
        while target < targets {
            let Stretch { to, start } = stretch;
            // SAFETY: the caller's obligations.
            let (ahead, beside) = (ahead(to), unsafe { visitor.beside(target, to as u64) });
            let of = |number: usize| at + ahead + number as u32 * apart;
            // SAFETY: the caller's obligations; units that are inside the stretch.
            unsafe {
                if ahead != known {
                    for (number, places) in places.iter_mut().enumerate() {
                        if of(number) + unit <= bytes {
                            *places = Places::of::<E>(stretches.tables, of(number));
                        }
                    }
                    known = ahead;
                }
                for (number, places) in places.iter().enumerate() {
                    let at = of(number);
                    if at + unit <= bytes {
                        let held = unit_of::<E, I>(*places, start);
                        visitor.store(to as u64 + at as u64, unit as usize, beside + at, held);
                    }
                }
                target += every;
                stretch = stretches.behind::<EVEN>(stretch, target, every, targets);
            }
        }
        at += UNITS as u32 * apart;
    }
}

/// The unit, of a stretch that starts there in shared memory, whose words are in such places.
///
/// # Safety
/// Those of [`walk`].
#[inline(always)]
unsafe fn unit_of<E: Element, I: Element>(places: Places, start: u32) -> B16 {
    let Places([first, second, ..]) = places;
    // SAFETY: the caller's obligations.
    unsafe {
        if size_of::<E>() >= 4 {
            return I::load_shared(start + first).in_vector();
        }
        if size_of::<I>() == size_of::<E>() {
            return B16(places.narrow_unit::<E>(start), 0, 0, 0);
        }
        // Two words, as near each other as those of the image's size are in a vector.
        let word = |place: u32| I::load_shared(start + place).in_vector().0;
        match size_of::<I>() {
            1 => B16(word(first) | word(second) << 8, 0, 0, 0),
            _ => B16(word(first), word(second), 0, 0),
        }
    }
}

/// Visits whole units of `WORDS` times 4 bytes out of runs.
///
/// # Safety
/// Those of [`walk`]; words are smaller than units, and there are runs.
#[inline(always)]
unsafe fn walk_runs<E: Element, const WORDS: u32>(
    stretches: Stretches<E>,
    [targets, bytes]: [u32; 2],
    visitor: impl Visitor,
) {
    let Stretches { params, tables, .. } = stretches;
    let (lanes, unit) = (params.lanes as u32, WORDS * 4);
    let first_unit = (thread::thread_idx_x() & ((1 << lanes) - 1)) * unit;
    let mut target = thread::thread_idx_x() >> lanes;
    while target < targets {
        // SAFETY: the caller's obligations.
        let (Stretch { to, start }, beside) = unsafe {
            let stretch = stretches.at(target);
            (stretch, visitor.beside(target, stretch.to as u64))
        };
        // Counted from the start of the sector that the stretch starts in.
        let mut at = first_unit as i32 - (to as u64 as u32 % SECTOR) as i32;
        while at + unit as i32 <= bytes as i32 {
            if at >= 0 {
                let at = at as u32;
                // SAFETY: the caller's obligations.
                unsafe {
                    let held = unit_of_runs::<WORDS>(params.run, tables.places, at, start);
                    let held = B16::from_u64s([held, 0]);
                    visitor.store(to as u64 + at as u64, unit as usize, beside + at, held)
                }
            }
            at += (unit << lanes) as i32;
        }
        target += BOX_THREADS >> lanes;
    }
}

/// Visits single words, neighbouring ones by neighbouring lanes.
///
/// # Safety
/// Those of [`walk`].
#[inline(always)]
unsafe fn walk_words<E: Element, I: Element>(
    stretches: Stretches<E>,
    targets: u32,
    words: u32,
    visitor: impl Visitor,
) {
    let (mut target, mut at) = (thread::thread_idx_x() / words, thread::thread_idx_x() % words);
    let (down, along) = (BOX_THREADS / words, BOX_THREADS % words);
    while target < targets {
        // SAFETY: the caller's obligations.
        unsafe {
            visit_word::<E, I>(stretches, target, [at * size_of::<E>() as u32, at], 0, visitor)
        }
        target += down;
        at += along;
        if at >= words {
            at -= words;
            target += 1;
        }
    }
}

/// Visits what stretches have before their first whole unit and behind their last, word by word.
///
/// # Safety
/// Those of [`walk`]; words are smaller than units.
#[inline(always)]
unsafe fn walk_ends<E: Element, I: Element>(
    stretches: Stretches<E>,
    targets: u32,
    [bytes, unit]: [u32; 2],
    visitor: impl Visitor,
) {
    let (size, run) = (size_of::<E>() as u32, stretches.params.run);
    // Lanes for either end: words of a unit.
    let lanes = unit / size;
    let lane = thread::thread_idx_x() & (2 * lanes - 1);
    let mut target = thread::thread_idx_x() / (2 * lanes);
    while target < targets {
        // SAFETY: the caller's obligations.
        let to = unsafe { stretches.at(target) }.to;
        let ahead = ((to as u64 as u32).wrapping_neg() % unit).min(bytes);
        let behind = ahead + (bytes - ahead) / unit * unit;
        let (at, end) = if lane < lanes {
            (lane * size, ahead)
        } else {
            (behind + (lane - lanes) * size, bytes)
        };
        if at < end {
            let (entry, past) = if run == 0 { (at / size, 0) } else { divide(at, run) };
            // SAFETY: the caller's obligations.
            unsafe { visit_word::<E, I>(stretches, target, [at, entry], past, visitor) }
        }
        target += BOX_THREADS / (2 * lanes);
    }
}

/// Visits the word of a stretch that is `at` bytes behind its start, and `past` bytes behind the place of an entry of the table.
///
/// # Safety
/// Those of [`walk`]; there is such a word.
#[inline(always)]
unsafe fn visit_word<E: Element, I: Element>(
    stretches: Stretches<E>,
    target: u32,
    [at, entry]: [u32; 2],
    past: u32,
    visitor: impl Visitor,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        let Stretch { to, start } = stretches.at(target);
        let place = load_u16(stretches.tables.places + entry * 2) + past;
        let word = I::load_shared(start + place).in_vector();
        let beside = visitor.beside(target, to as u64) + at;
        visitor.store(to as u64 + at as u64, size_of::<E>(), beside, word)
    }
}

//! Loads and stores of a warp.
//!
//! Data passes through a buffer of up to four words per lane: loads fill it and
//! spread it over registers, stores gather into it. Where it goes (`place.rs`) is decided
//! per lane only for generic addresses.

use std::sync::atomic::{Ordering, fence};

use crate::alu::join;
use crate::cta::{At, Cta};
use crate::findings::{Finding, Space, Touched};
use crate::isa::{Access, Slot};
use crate::local::{Bad, low_mask};
use crate::memory::{Allocation, find, lock};
use crate::place::Parts;
use crate::registers::{Doubles, LANES, Registers, Words, lanes};
use crate::trace::Motion;

type Buffer = [Words; 4];

/// Calls a method generic over the bytes of an access.
macro_rules! with_bytes {
    ($bytes:expr, $call:ident :: <BYTES> ( $($arg:tt)* )) => {
        match $bytes {
            1 => $call::<1>($($arg)*),
            2 => $call::<2>($($arg)*),
            4 => $call::<4>($($arg)*),
            8 => $call::<8>($($arg)*),
            _ => $call::<16>($($arg)*),
        }
    };
}

/// Executes a load.
#[inline(always)]
pub(crate) fn load<const WATCH: bool>(
    cta: &mut Cta<'_>,
    registers: &mut Registers,
    access: &Access,
    here: At,
) -> Result<(), Box<Finding>> {
    let mut buffer = [[0; LANES]; 4];
    let mut parts = Parts::new(registers, access.window, access.base, access.offset, here);
    while let Some((space, at)) = parts.next_space() {
        load_from::<WATCH>(cta, access, space, at, &parts.addresses, &mut buffer)?;
        if WATCH && cta.weak.is_some() && space != Space::Param {
            let whole = at.mask == here.mask;
            if !(whole && cta.weak_defer(access, space, at, &parts.addresses)) {
                cta.weak_load(access, space, at, &parts.addresses, None, &mut buffer);
            }
        }
    }
    if access.ordering {
        fence(Ordering::SeqCst);
    }
    spread(registers, access, here.mask, &buffer);
    Ok(())
}

/// Executes the load of a copy: what it reads is no register's.
pub(crate) fn read<const WATCH: bool>(
    cta: &mut Cta<'_>,
    registers: &Registers,
    access: &Access,
    here: At,
) -> Result<[Words; 4], Box<Finding>> {
    let mut buffer = [[0; LANES]; 4];
    let mut parts = Parts::new(registers, access.window, access.base, access.offset, here);
    while let Some((space, at)) = parts.next_space() {
        load_from::<WATCH>(cta, access, space, at, &parts.addresses, &mut buffer)?;
        if WATCH && cta.weak.is_some() {
            cta.weak_load(access, space, at, &parts.addresses, None, &mut buffer);
        }
    }
    Ok(buffer)
}

/// Executes the store of a copy, to these addresses of shared memory.
pub(crate) fn write<const WATCH: bool>(
    cta: &mut Cta<'_>,
    access: &Access,
    at: At,
    addresses: &Doubles,
    words: &[Words; 4],
) -> Result<(), Box<Finding>> {
    if WATCH && cta.weak.is_some() {
        cta.weak_touch(Space::Shared, at, addresses, access.bytes);
    }
    store_to::<WATCH>(cta, access, Space::Shared, at, addresses, words)?;
    if WATCH && cta.weak.is_some() {
        cta.weak_store(access, Space::Shared, at, addresses, words);
    }
    Ok(())
}

#[inline(always)]
fn load_from<const WATCH: bool>(
    cta: &mut Cta<'_>,
    access: &Access,
    space: Space,
    at: At,
    addresses: &Doubles,
    buffer: &mut Buffer,
) -> Result<(), Box<Finding>> {
    let strong = access.strong;
    let done = with_bytes!(
        access.bytes,
        load_space::<BYTES>(cta, space, addresses, at.mask, strong, buffer)
    );
    if let Err((lane, bad)) = done {
        return Err(cta.bad_access(at, lane, bad, space, addresses[lane], access.bytes));
    }
    if WATCH {
        cta.observe(at, space, Motion::Load, access.strength(), access.bytes, addresses);
    }
    Ok(())
}

/// Executes a store.
#[inline(always)]
pub(crate) fn store<const WATCH: bool>(
    cta: &mut Cta<'_>,
    registers: &Registers,
    access: &Access,
    at: At,
) -> Result<(), Box<Finding>> {
    let mut buffer = [[0; LANES]; 4];
    gather(registers, access, &mut buffer);
    if access.ordering {
        fence(Ordering::SeqCst);
    }
    let mut parts = Parts::new(registers, access.window, access.base, access.offset, at);
    while let Some((space, at)) = parts.next_space() {
        if WATCH && cta.weak.is_some() {
            cta.weak_touch(space, at, &parts.addresses, access.bytes);
        }
        store_to::<WATCH>(cta, access, space, at, &parts.addresses, &buffer)?;
        if WATCH && cta.weak.is_some() {
            cta.weak_store(access, space, at, &parts.addresses, &buffer);
        }
    }
    Ok(())
}

#[inline(always)]
fn store_to<const WATCH: bool>(
    cta: &mut Cta<'_>,
    access: &Access,
    space: Space,
    at: At,
    addresses: &Doubles,
    buffer: &Buffer,
) -> Result<(), Box<Finding>> {
    let strong = access.strong;
    let done = with_bytes!(
        access.bytes,
        store_space::<BYTES>(cta, space, addresses, at.mask, strong, buffer)
    );
    if let Err((lane, bad)) = done {
        return Err(cta.bad_access(at, lane, bad, space, addresses[lane], access.bytes));
    }
    if WATCH {
        cta.observe(at, space, Motion::Store, access.strength(), access.bytes, addresses);
    }
    Ok(())
}

#[inline(always)]
fn load_space<const BYTES: usize>(
    cta: &mut Cta<'_>,
    space: Space,
    addresses: &Doubles,
    mask: u32,
    strong: bool,
    buffer: &mut Buffer,
) -> Result<(), (usize, Bad)> {
    match space {
        Space::Shared => cta.shared.load::<BYTES>(addresses, mask, buffer),
        Space::Param => cta.launch.params.load::<BYTES>(addresses, mask, buffer),
        Space::Global => load_global::<BYTES>(cta, addresses, mask, strong, buffer),
    }
}

#[inline(always)]
fn store_space<const BYTES: usize>(
    cta: &mut Cta<'_>,
    space: Space,
    addresses: &Doubles,
    mask: u32,
    strong: bool,
    buffer: &Buffer,
) -> Result<(), (usize, Bad)> {
    match space {
        Space::Shared => cta.shared.store::<BYTES>(addresses, mask, buffer),
        // Decoding refuses stores to parameters.
        Space::Param => Err((0, Bad::OutOfBounds)),
        Space::Global => store_global::<BYTES>(cta, addresses, mask, strong, buffer),
    }
}

/// Where a global access goes: the allocation and the offset in it.
#[inline(always)]
pub(crate) fn place<'k, const BYTES: usize>(
    cta: &mut Cta<'k>,
    address: u64,
) -> Result<(&'k Allocation, u64), Bad> {
    let bytes = BYTES as u64;
    let offset = address.wrapping_sub(cta.allocation.base);
    if offset & (bytes - 1) == 0 && offset.wrapping_add(bytes - 1) < cta.allocation.bytes {
        return Ok((cta.allocation, offset));
    }
    locate(cta, address, bytes)
}

/// The slow half of [`place`]: looks the allocation up and remembers it.
#[inline(never)]
fn locate<'k>(cta: &mut Cta<'k>, address: u64, bytes: u64) -> Result<(&'k Allocation, u64), Bad> {
    if address & (bytes - 1) != 0 {
        return Err(Bad::Misaligned);
    }
    let table = cta.launch.table;
    let at = find(table, address, bytes).ok_or(Bad::OutOfBounds)?;
    cta.allocation = &table[at];
    Ok((cta.allocation, address - cta.allocation.base))
}

#[inline(always)]
fn load_global<const BYTES: usize>(
    cta: &mut Cta<'_>,
    addresses: &Doubles,
    mask: u32,
    strong: bool,
    buffer: &mut Buffer,
) -> Result<(), (usize, Bad)> {
    for lane in lanes(mask) {
        let (allocation, offset) =
            place::<BYTES>(cta, addresses[lane]).map_err(|bad| (lane, bad))?;
        let at = (offset / 4) as usize;
        // A strong access of 8 bytes must not be torn.
        let guard = (strong && BYTES == 8).then(|| cta.launch.lock(addresses[lane]));
        if BYTES >= 4 {
            for k in 0..BYTES / 4 {
                buffer[k][lane] = allocation.words[at + k].load(Ordering::Relaxed);
            }
        } else {
            let word = allocation.words[at].load(Ordering::Relaxed);
            buffer[0][lane] = word >> (8 * (offset % 4)) & low_mask(BYTES);
        }
        drop(guard);
    }
    Ok(())
}

#[inline(always)]
fn store_global<const BYTES: usize>(
    cta: &mut Cta<'_>,
    addresses: &Doubles,
    mask: u32,
    strong: bool,
    buffer: &Buffer,
) -> Result<(), (usize, Bad)> {
    if BYTES < 4 {
        return store_narrow::<BYTES>(cta, addresses, mask, buffer);
    }
    for lane in lanes(mask) {
        let (allocation, offset) =
            place::<BYTES>(cta, addresses[lane]).map_err(|bad| (lane, bad))?;
        let at = (offset / 4) as usize;
        let guard = (strong && BYTES == 8).then(|| cta.launch.lock(addresses[lane]));
        for k in 0..BYTES / 4 {
            allocation.words[at + k].store(buffer[k][lane], Ordering::Relaxed);
        }
        drop(guard);
    }
    mark_written::<BYTES>(cta, addresses, mask);
    Ok(())
}

pub(crate) fn mark_written<const BYTES: usize>(cta: &mut Cta<'_>, addresses: &Doubles, mask: u32) {
    if !cta.launch.memory.is_tracking() {
        return;
    }
    for lane in lanes(mask) {
        // Every address was placed before.
        if let Ok((allocation, offset)) = place::<BYTES>(cta, addresses[lane]) {
            allocation.mark_written(offset, BYTES as u64);
        }
    }
}

/// Stores of 1 or 2 bytes replace part of a word, which takes an atomic
/// exchange; neighbouring lanes that share a word share the exchange.
fn store_narrow<const BYTES: usize>(
    cta: &mut Cta<'_>,
    addresses: &Doubles,
    mask: u32,
    buffer: &Buffer,
) -> Result<(), (usize, Bad)> {
    let mut pending: Option<(&Allocation, usize, u32, u32)> = None;
    let flush = |pending: Option<(&Allocation, usize, u32, u32)>| {
        if let Some((allocation, at, value, keep)) = pending {
            allocation.store_masked(at, value, keep);
        }
    };
    for lane in lanes(mask) {
        let (allocation, offset) = match place::<BYTES>(cta, addresses[lane]) {
            Ok(placed) => placed,
            Err(bad) => {
                flush(pending);
                return Err((lane, bad));
            }
        };
        let (at, shift) = ((offset / 4) as usize, 8 * (offset % 4));
        let part = low_mask(BYTES) << shift;
        let value = buffer[0][lane] << shift & part;
        match &mut pending {
            Some((same, word, bits, covered)) if std::ptr::eq(*same, allocation) && *word == at => {
                *bits = *bits & !part | value;
                *covered |= part;
            }
            _ => {
                flush(pending);
                pending = Some((allocation, at, value, part));
            }
        }
    }
    flush(pending);
    mark_written::<BYTES>(cta, addresses, mask);
    Ok(())
}

/// Moves a load's buffer to its registers.
#[inline(always)]
pub(crate) fn spread(registers: &mut Registers, access: &Access, mask: u32, buffer: &Buffer) {
    for (at, slot) in access.slots[..usize::from(access.count)].iter().enumerate() {
        match (access.element, *slot) {
            (4, Slot::W(w)) => registers.set_w(w, mask, &buffer[at]),
            (8, Slot::D(d)) => {
                let value = join(&buffer[(2 * at) % 4], &buffer[(2 * at + 1) % 4]);
                registers.set_d(d, mask, &value);
            }
            _ => spread_any(registers, access, at, mask, buffer),
        }
    }
}

#[inline(never)]
fn spread_any(registers: &mut Registers, access: &Access, at: usize, mask: u32, buffer: &Buffer) {
    let element = usize::from(access.element);
    if let Slot::Q(d) = access.slots[at] {
        registers.set_d(d, mask, &join(&buffer[0], &buffer[1]));
        registers.set_d(crate::isa::D(d.0 + 1), mask, &join(&buffer[2], &buffer[3]));
        return;
    }
    let byte = at * element;
    let spare = 64 - 8 * element as u32;
    let value = |lane: usize| {
        let low = u64::from(buffer[byte / 4][lane]);
        let high = if element == 8 { u64::from(buffer[byte / 4 + 1][lane]) } else { 0 };
        let raw = (low | high << 32) >> (8 * (byte % 4)) << spare;
        if access.signed { (raw as i64 >> spare) as u64 } else { raw >> spare }
    };
    let values: Doubles = std::array::from_fn(value);
    match access.slots[at] {
        Slot::D(d) => registers.set_d(d, mask, &values),
        Slot::W(w) => registers.set_w(w, mask, &values.map(|value| value as u32)),
        Slot::H(w) => registers.set_w(w, mask, &values.map(|value| value as u32 & 0xffff)),
        Slot::Q(_) | Slot::None => {}
    }
}

/// Fills a store's buffer from its registers, all lanes of it.
#[inline(always)]
fn gather(registers: &Registers, access: &Access, buffer: &mut Buffer) {
    let element = usize::from(access.element);
    for (at, slot) in access.slots[..usize::from(access.count)].iter().enumerate() {
        let byte = at * element;
        match (element, *slot) {
            (4, Slot::W(w)) => buffer[at] = *registers.w(w),
            (8, Slot::D(d)) => split(registers.d(d), buffer, 2 * at),
            (_, Slot::Q(d)) => {
                split(registers.d(d), buffer, 0);
                split(registers.d(crate::isa::D(d.0 + 1)), buffer, 2);
            }
            (_, Slot::W(w) | Slot::H(w)) => {
                or_part(buffer, byte, element, |lane| registers.w(w)[lane])
            }
            (_, Slot::D(d)) => or_part(buffer, byte, element, |lane| registers.d(d)[lane] as u32),
            (_, Slot::None) => {}
        }
    }
}

#[inline(always)]
fn split(values: &Doubles, buffer: &mut Buffer, at: usize) {
    for lane in 0..LANES {
        buffer[at % 4][lane] = values[lane] as u32;
        buffer[(at + 1) % 4][lane] = (values[lane] >> 32) as u32;
    }
}

/// Puts the low bytes of a value at byte `byte` of every lane.
fn or_part(buffer: &mut Buffer, byte: usize, element: usize, value: impl Fn(usize) -> u32) {
    let mask = low_mask(element.min(4));
    for lane in 0..LANES {
        buffer[byte / 4][lane] |= (value(lane) & mask) << (8 * (byte % 4));
    }
}

impl<'k> Cta<'k> {
    /// The allocation that holds bytes of global memory, and where in it they are.
    pub(crate) fn global_at(&self, address: u64, bytes: u64) -> Option<(&'k Allocation, u64)> {
        let table = self.launch.table;
        let at = find(table, address, bytes)?;
        Some((&table[at], address - table[at].base))
    }
}

impl Cta<'_> {
    /// Describes an access that cannot be made.
    #[cold]
    pub(crate) fn bad_access(
        &self,
        at: At,
        lane: usize,
        bad: Bad,
        space: Space,
        address: u64,
        bytes: u8,
    ) -> Box<Finding> {
        use crate::findings::FindingKind::{Misaligned, OutOfBounds};
        let (kind, detail) = match (bad, space) {
            (Bad::Misaligned, _) => (Misaligned, format!("the address is no multiple of {bytes}")),
            (Bad::OutOfBounds, Space::Global) => {
                (OutOfBounds, crate::memory::describe(self.launch.table, address, u64::from(bytes)))
            }
            (Bad::OutOfBounds, Space::Shared) => {
                (OutOfBounds, format!("the block has {} bytes", self.shared.bytes()))
            }
            (Bad::OutOfBounds, Space::Param) => {
                (OutOfBounds, format!("there are {} bytes", self.launch.params.bytes()))
            }
        };
        let touched = Touched { space, address, bytes: u32::from(bytes) };
        Box::new(Finding { touched: Some(touched), detail, ..self.finding(kind, at, lane) })
    }
}

impl crate::launch::Launch<'_> {
    /// The lock that makes strong 64-bit accesses to `address` whole.
    pub(crate) fn lock(&self, address: u64) -> std::sync::MutexGuard<'_, ()> {
        let locks = &self.memory.locks;
        lock(&locks[(address / 8) as usize % locks.len()])
    }
}

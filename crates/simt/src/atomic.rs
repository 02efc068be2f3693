//! Atomics of a warp.

use std::sync::atomic::{Ordering, fence};

use crate::access::{mark_written, place};
use crate::cta::{At, Cta};
use crate::findings::{Finding, Space};
use crate::isa::{Atomic, AtomicOp, Reg};
use crate::local::Bad;
use crate::number::{self, Number};
use crate::place::Parts;
use crate::registers::{LANES, Registers, lanes};
use crate::trace::Motion;

/// Executes an atomic, lane after lane.
pub(crate) fn atomic<const WATCH: bool>(
    cta: &mut Cta<'_>,
    registers: &mut Registers,
    atomic: &Atomic,
    at: At,
) -> Result<(), Box<Finding>> {
    let value = |reg: Reg| match reg {
        Reg::W(w) => registers.w(w).map(u64::from),
        Reg::D(d) => *registers.d(d),
    };
    let (b, c) = (value(atomic.b), atomic.c.map(value));
    if atomic.release {
        fence(Ordering::SeqCst);
    }
    let mut old = [0; LANES];
    let mut parts = Parts::new(registers, atomic.window, atomic.base, atomic.offset, at);
    while let Some((space, at)) = parts.next_space() {
        let (addresses, mask) = (&parts.addresses, at.mask);
        if WATCH && cta.weak.is_some() {
            cta.weak_touch(space, at, addresses, atomic.bytes);
        }
        for lane in lanes(mask) {
            let address = addresses[lane];
            let f = |old| match (atomic.op, space, atomic.bytes) {
                (AtomicOp::FAdd, Space::Global, 4) => {
                    u64::from(number::add_flushing(old as u32, b[lane] as u32))
                }
                (AtomicOp::FAdd, Space::Global, _) => number::add_signalling(old, b[lane]),
                // A loop around `cas`, whose sum has the operands in this order.
                (AtomicOp::FAdd, _, 8) => b[lane].f_add(old),
                (op, _, bytes) => apply(op, bytes, old, b[lane], c.map_or(0, |c| c[lane])),
            };
            let done = match space {
                Space::Shared => cta.shared.update(address, atomic.bytes, f),
                _ => update_global(cta, address, atomic, f),
            };
            match done {
                Ok(value) => {
                    old[lane] = value;
                    if WATCH && cta.weak.is_some() {
                        let wrote = atomic.op != AtomicOp::Cas || value == b[lane];
                        cta.weak_atomic(atomic, space, at, (lane, address), wrote);
                    }
                }
                Err(bad) => {
                    return Err(cta.bad_access(at, lane, bad, space, address, atomic.bytes));
                }
            }
        }
        if WATCH {
            cta.observe(at, space, Motion::Atomic, Some(atomic.scope), atomic.bytes, addresses);
        }
        match (space, atomic.bytes) {
            (Space::Global, 4) => mark_written::<4>(cta, addresses, mask),
            (Space::Global, _) => mark_written::<8>(cta, addresses, mask),
            _ => {}
        }
    }
    if atomic.acquire {
        fence(Ordering::SeqCst);
    }
    match atomic.d {
        Some(Reg::W(w)) => registers.set_w(w, at.mask, &old.map(|old| old as u32)),
        Some(Reg::D(d)) => registers.set_d(d, at.mask, &old),
        None => {}
    }
    Ok(())
}

fn update_global(
    cta: &mut Cta<'_>,
    address: u64,
    atomic: &Atomic,
    f: impl Fn(u64) -> u64,
) -> Result<u64, Bad> {
    if atomic.bytes == 4 {
        let (allocation, offset) = place::<4>(cta, address)?;
        let word = &allocation.words[(offset / 4) as usize];
        let f = |old| Some(f(u64::from(old)) as u32);
        // The closure never declines.
        let (Ok(old) | Err(old)) = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, f);
        return Ok(u64::from(old));
    }
    let (allocation, offset) = place::<8>(cta, address)?;
    let at = (offset / 4) as usize;
    let (low, high) = (&allocation.words[at], &allocation.words[at + 1]);
    let _guard = cta.launch.lock(address);
    let old =
        u64::from(low.load(Ordering::Relaxed)) | u64::from(high.load(Ordering::Relaxed)) << 32;
    let new = f(old);
    low.store(new as u32, Ordering::Relaxed);
    high.store((new >> 32) as u32, Ordering::Relaxed);
    Ok(old)
}

/// The new value of an atomic.
pub(crate) fn apply(op: AtomicOp, bytes: u8, old: u64, b: u64, c: u64) -> u64 {
    let narrow = bytes == 4;
    let signed = |value: u64| if narrow { i64::from(value as u32 as i32) } else { value as i64 };
    match op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exch => b,
        AtomicOp::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOp::MinU => old.min(b),
        AtomicOp::MaxU => old.max(b),
        AtomicOp::MinS => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        AtomicOp::MaxS => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        AtomicOp::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        AtomicOp::FAdd if narrow => u64::from((old as u32).f_add(b as u32)),
        AtomicOp::FAdd => old.f_add(b),
    }
}

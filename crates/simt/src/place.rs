//! Where the access of each lane goes: addresses, and the state space that a generic one lies in.

use crate::cta::At;
use crate::findings::Space;
use crate::isa::{Reg, SHARED_WINDOW, SHARED_WINDOW_BYTES, Window};
use crate::registers::{Doubles, LANES, Registers};

/// The address of every lane.
#[inline(always)]
pub(crate) fn addresses(registers: &Registers, base: Reg, offset: i64) -> Doubles {
    let mut out = [0; LANES];
    match base {
        Reg::D(d) => {
            let base = registers.d(d);
            for lane in 0..LANES {
                out[lane] = base[lane].wrapping_add_signed(offset);
            }
        }
        Reg::W(w) => {
            let base = registers.w(w);
            for lane in 0..LANES {
                out[lane] = u64::from(base[lane].wrapping_add(offset as u32));
            }
        }
    }
    out
}

/// An access by state space: one, except for generic addresses, which may lie in
/// global memory for some lanes and in shared memory for others.
pub(crate) struct Parts {
    /// Of every lane, in the space that [`Parts::next_space`] returned.
    pub addresses: Doubles,
    window: Window,
    at: At,
    /// Lanes still to do that touch shared memory, and the others.
    shared: u32,
    other: u32,
}

impl Parts {
    #[inline(always)]
    pub fn new(registers: &Registers, window: Window, base: Reg, offset: i64, at: At) -> Parts {
        let addresses = addresses(registers, base, offset);
        let shared = match window {
            Window::Shared => at.mask,
            Window::Generic => shared_lanes(&addresses) & at.mask,
            Window::Global | Window::Param => 0,
        };
        Parts { addresses, window, at, shared, other: at.mask & !shared }
    }

    /// The next space and who accesses it.
    #[inline(always)]
    pub fn next_space(&mut self) -> Option<(Space, At)> {
        if self.other != 0 {
            let at = At { mask: std::mem::take(&mut self.other), ..self.at };
            let space = if self.window == Window::Param { Space::Param } else { Space::Global };
            return Some((space, at));
        }
        if self.shared == 0 {
            return None;
        }
        if self.window == Window::Generic {
            self.addresses.iter_mut().for_each(|a| *a = a.wrapping_sub(SHARED_WINDOW));
        }
        let at = At { mask: std::mem::take(&mut self.shared), ..self.at };
        Some((Space::Shared, at))
    }
}

/// Where the access of each lane goes.
pub(crate) struct Place {
    addresses: Doubles,
    window: Window,
    shared: u32,
}

impl Place {
    pub(crate) fn of(registers: &Registers, window: Window, base: Reg, offset: i64) -> Place {
        let addresses = addresses(registers, base, offset);
        let shared = match window {
            Window::Shared => u32::MAX,
            Window::Generic => shared_lanes(&addresses),
            Window::Global | Window::Param => 0,
        };
        Place { addresses, window, shared }
    }

    /// The space and the address in it.
    pub(crate) fn at(&self, lane: usize) -> (Space, u64) {
        let address = self.addresses[lane];
        match (self.shared >> lane & 1 == 1, self.window) {
            (true, Window::Generic) => (Space::Shared, address.wrapping_sub(SHARED_WINDOW)),
            (true, _) => (Space::Shared, address),
            (false, Window::Param) => (Space::Param, address),
            (false, _) => (Space::Global, address),
        }
    }
}

/// The lanes whose generic address lies in shared memory.
fn shared_lanes(addresses: &Doubles) -> u32 {
    let inside = |lane: usize| addresses[lane].wrapping_sub(SHARED_WINDOW) < SHARED_WINDOW_BYTES;
    (0..LANES).fold(0, |all, lane| all | u32::from(inside(lane)) << lane)
}

//! How a block walks over equally long segments: several elements per thread in flight.
//!
//! The threads form a rectangle, `2^along` of them along a segment and the rest across segments,
//! so that both long and short segments keep a warp's accesses together.

use crate::element::Element;
use cuda_std::thread;

/// Elements that a thread has in flight.
const IN_FLIGHT: usize = 8;

/// Moves every element `(segment, position)` of `segments × length` by `load`, then `store`.
#[inline(always)]
pub fn sweep<E: Element>(
    segments: u32,
    length: u32,
    along: u32,
    load: impl Fn(u32, u32) -> E,
    store: impl Fn(u32, u32, E),
) {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let (x, y) = (thread & ((1 << along) - 1), thread >> along);
    let (step_x, step_y) = (1 << along, threads >> along);
    if x >= length {
        return;
    }
    let (mut segment, mut position) = (y, x);
    while segment < segments {
        let mut held = [E::ANY; IN_FLIGHT];
        let mut places = [(0, 0); IN_FLIGHT];
        // All loads before the first store: they are in flight together.
        crate::unroll!(K in [0 1 2 3 4 5 6 7] {
            places[K] = (segment, position);
            if segment < segments {
                held[K] = load(segment, position);
            }
            position += step_x;
            if position >= length {
                position = x;
                segment += step_y;
            }
        });
        crate::unroll!(K in [0 1 2 3 4 5 6 7] {
            let (segment, position) = places[K];
            if segment < segments {
                store(segment, position, held[K]);
            }
        });
    }
}

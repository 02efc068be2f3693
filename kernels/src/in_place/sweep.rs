//! How a block walks over equally long segments: several elements per thread in flight.
//!
//! The threads form a rectangle, `2^along` of them along a segment and the rest across segments,
//! so that both long and short segments keep a warp's accesses together.

use crate::element::Element;
use crate::opaque::lane_again;
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
    let same_thread = (thread & !31) | lane_again();
    let (same_x, same_y) = (same_thread & ((1 << along) - 1), same_thread >> along);
    let (mut store_segment, mut store_position) = (same_y, same_x);
    while segment < segments {
        let mut held = [E::ANY; IN_FLIGHT];
        // All loads before the first store: they are in flight together.
        crate::unroll!(K in [0 1 2 3 4 5 6 7] {
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
            if store_segment < segments {
                store(store_segment, store_position, held[K]);
            }
            store_position += step_x;
            if store_position >= length {
                store_position = same_x;
                store_segment += step_y;
            }
        });
    }
}

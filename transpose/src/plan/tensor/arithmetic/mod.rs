//! Planning moves that compute on the way.
//!
//! | file | what it is about |
//! |---|---|
//! | `plan` | the plan that programs hold, and running it |
//! | `normalizing` | the plan that holds a table of channels |
//! | `problem` | what a plan is made for |
//! | `operands` | the move in canonical form: axes of up to three memories |
//! | `matrices` | the planner of `compute_micro`, `compute_rows`, `compute_sums` and `compute_sum_rows`, for matrices that are transposed |
//! | `passes` | the order of a sum's operands, and sums in two passes |
//! | `units` | the planner of `compute_units`, which serves every move |
//! | `triples` | the planner of `compute_triples`, for three channels |
//! | `pixels` | the planner of `compute_pixels`, for few channels |
//! | `tiles` | the planner of `compute_tiles`, for moves whose fastest axis changes |

mod matrices;
mod normalizing;
mod operands;
mod passes;
mod pixels;
mod plan;
mod problem;
mod tiles;
mod triples;
mod units;

pub use normalizing::NormalizingPlan;
pub use plan::ArithmeticPlan;

use super::words;
use crate::Facts;
use crate::image::EntryPoint;
use crate::kernels::ARITHMETIC;
use crate::launch::Launch;
use kernel_abi::arithmetic::Operation;
use kernel_abi::{Kernel, Params, Width};
use operands::{OTHER, Operands, SRC};

/// A launch of a move.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    launch: Launch,
    /// Bytes from where the second operand's move starts to where this launch starts.
    other: u64,
    /// Which memories are the kernel's source and second operand.
    operands: [usize; 2],
}

impl Part {
    /// A launch that starts where the move does, its operands in their order.
    fn of(launch: Launch) -> Self {
        Part { launch, other: 0, operands: [SRC, OTHER] }
    }
}

/// The ways to go, the best first.
fn ways(operands: &Operands, operation: &Operation, facts: &Facts) -> Vec<Vec<Part>> {
    /// How many shapes of tile are candidates.
    const SHAPES: usize = 6;
    let of_matrices = matrices::ways(operands, operation, facts);
    let mut in_tiles = tiles::best(operands, operation, facts, SHAPES);
    let by_units = units::launches(operands, operation);
    let in_triples = triples::launch(operands, operation);
    let in_pixels: Vec<Vec<Part>> = in_triples
        .into_iter()
        .chain(pixels::launch(operands, operation))
        .map(|part| vec![part])
        .collect();
    let in_words = tiles::in_words(operands);
    let cost = words::cost_along(&in_words, in_words.axes(), facts);
    let (full, empty): (Vec<_>, Vec<_>) = of_matrices.into_iter().partition(matrices::Way::is_full);
    let few = !in_pixels.is_empty() || !full.is_empty();
    let tiles_first = !few
        && !operands.are_in_units()
        && in_tiles.first().is_some_and(|(of_tiles, _)| *of_tiles < cost);
    let rest = in_tiles.split_off(usize::from(tiles_first).min(in_tiles.len()));
    let one = |(_, part): (f64, Part)| vec![part];
    let of_matrices = |ways: Vec<matrices::Way>| ways.into_iter().map(|way| vec![way.part]);
    let ways = in_pixels
        .into_iter()
        .chain(of_matrices(full))
        .chain(in_tiles.into_iter().map(one))
        .chain([by_units]);
    ways.chain(of_matrices(empty)).chain(rest.into_iter().map(one)).collect()
}

/// The entry point of a kernel for a source of elements of so many bytes.
fn entry<P: Params>(kernel: &Kernel<P>, bytes: usize) -> EntryPoint {
    let entry = Width::of_bytes(bytes).and_then(|width| kernel.entry(width));
    ARITHMETIC.entry(entry.expect("there are kernels for every number").name)
}

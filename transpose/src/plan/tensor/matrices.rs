//! Matrices that go the way of tensors: those that no kernel of matrices is for, and those that are expected to be faster so.

use super::canonical::Canonical;
use super::gaps::Gaps;
use super::problem::{TensorProblem, to_sector};
use super::ways::Ways;
use super::{model, words};
use crate::Facts;
use crate::launch::Launch;
use crate::plan::memo::{Chip, MOST_KEPT, Memo, hash_of};
use crate::plan::problem::Problem;
use crate::tensor::TensorLayout;

/// Of fewer bytes gaps take less time than planning.
const LARGE: usize = 4 << 20;

/// What has been planned lately for matrices that the model was asked about.
#[derive(Clone)]
struct Recent {
    chip: Chip,
    problem: Problem,
    launches: Option<Vec<Launch>>,
}

static RECENT: Memo<Recent> = Memo::new();

/// What was planned lately for such matrices, or what is planned now.
fn recent_or(
    problem: &Problem,
    facts: &Facts,
    plan: impl FnOnce() -> Option<Vec<Launch>>,
) -> Option<Vec<Launch>> {
    let (hash, chip) = (hash_of(problem), Chip::of(facts));
    let is_it = |recent: &Recent| recent.problem == *problem && recent.chip == chip;
    let make = || Recent { chip, problem: *problem, launches: plan() };
    let are_few = |recent: &Recent| {
        recent.launches.as_ref().is_none_or(|launches| launches.len() <= MOST_KEPT)
    };
    RECENT.find_or(hash, is_it, make, are_few).launches
}

/// Launches of the kernels that serve any move, for matrices that are for no kernel of theirs.
pub(in crate::plan) fn transposing(problem: &Problem, facts: &Facts) -> Option<Vec<Launch>> {
    recent_or(problem, facts, || general(problem, facts))
}

fn general(problem: &Problem, facts: &Facts) -> Option<Vec<Launch>> {
    let layouts = layouts_of(problem)?;
    let problem = move_of(problem, &layouts);
    let canonical = Canonical::of(&problem);
    let ways = Ways::of(&canonical, facts, None);
    // What is one stretch of memory is moved by launches, too: a plan of matrices has nothing else.
    Some(ways.map_or_else(|_| words::launches(&canonical, None), |ways| ways.best().launches))
}

/// Launches of the kernels that serve any move, if the model expects them to transpose matrices in clearly less time than these launches do. It is asked about
/// batches, about few rows or columns between gaps, and where tiles are partly empty or a kernel is slow for such elements.
pub(in crate::plan) fn better(
    problem: &Problem,
    launches: &[Launch],
    facts: &Facts,
) -> Option<Vec<Launch>> {
    /// Threads that have less than so much of what they could move are too many, in small moves and in large ones.
    const FULL: [f64; 2] = [0.5, 0.75];
    let bytes = problem.bytes();
    if bytes < model::SMALL {
        return None;
    }
    let is_large = bytes >= LARGE;
    let if_poor = model::if_poor(problem, facts, launches, FULL[usize::from(is_large)]);
    let has_gaps = problem.dst.ld > problem.dst.cols;
    let is_batch = problem.batch.count > 1;
    if if_poor.is_none() && !(is_large && (has_gaps || is_batch)) {
        return None;
    }
    recent_or(problem, facts, || cheaper(problem, launches, facts, if_poor))
}

/// The launches of [`better`], where the model says that there are some: of a kernel that is slow, or leaves threads idle, what others must cost at most is known.
fn cheaper(
    problem: &Problem,
    launches: &[Launch],
    facts: &Facts,
    if_poor: Option<f64>,
) -> Option<Vec<Launch>> {
    /// Of what such a move costs, what another way must cost at most, for a model errs.
    const LESS: f64 = 0.95;
    let (is_large, is_batch) = (problem.bytes() >= LARGE, problem.batch.count > 1);
    let layouts = layouts_of(problem)?;
    let problem = move_of(problem, &layouts);
    let canonical = Canonical::of(&problem);
    let ways = Ways::of(&canonical, facts, None).ok()?;
    if if_poor.is_none() && !is_batch && !Gaps::of(&canonical).fetch {
        return None;
    }
    let cost = model::cost_of_matrix(&canonical, facts, launches);
    // Planning takes longer than a launch's latency.
    if !is_large && cost - model::fewest_sectors(&canonical) < model::LATENCY {
        return None;
    }
    let limit = cost * if is_large { LESS } else { if_poor.unwrap_or(LESS) };
    let tiles = ways.in_tiles(1, limit).next();
    let boxes = ways.in_boxes(1, tiles.as_ref().map_or(limit, |tiles| tiles.cost)).next();
    let best = boxes.or(tiles);
    let by_words = ways.cost_by_words();
    if by_words < best.as_ref().map_or(limit, |best| best.cost) {
        return Some(ways.by_words(by_words).launches);
    }
    Some(best?.launches)
}

/// The move that the transpose of matrices is, which lie as these layouts say.
fn move_of<'a>(problem: &Problem, [src, dst]: &'a [TensorLayout; 2]) -> TensorProblem<'a> {
    let Problem { element_bytes, src_align, dst_align, .. } = *problem;
    let [src_align, dst_align] = [src_align, dst_align].map(to_sector);
    TensorProblem { element_bytes, src, dst, src_align, dst_align }
}

/// The matrices as arrays of one shape.
fn layouts_of(problem: &Problem) -> Option<[TensorLayout; 2]> {
    let Problem { element_bytes, src, dst, batch, .. } = *problem;
    let shape = [batch.count, src.cols, src.rows];
    let layout = |strides: [usize; 3]| {
        let [matrices, down, along] = strides.map(|elements| isize::try_from(elements).ok());
        TensorLayout::strided(&shape, &[matrices?, down?, along?], 0, element_bytes).ok()
    };
    Some([layout([batch.src_stride, 1, src.ld])?, layout([batch.dst_stride, dst.ld, 1])?])
}

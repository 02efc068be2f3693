//! Columns that end inside a sector that another tile goes on in: what is stored to it by each waits for the other. Of words of 4 bytes and more that was seen to take time where a tile's columns
//! lie a kilobyte and more apart, and none where they lie nearer (decision 090).

use super::super::canonical::Canonical;
use super::super::cuts::Placed;
use super::super::model::are_far;
use super::super::sectors::SECTOR;
use super::units::NARROW;
use crate::plan::problem::VECTOR;

/// How many bytes of the destination the columns of a tile are apart, along each of their axes.
pub(super) fn steps(canonical: &Canonical, cols: &Placed) -> impl Iterator<Item = usize> {
    let word = canonical.word_bytes();
    cols.cut.axes().map(move |axis| canonical.axes()[axis].dst.unsigned_abs() * word)
}

/// How many of `count` columns end inside a sector that another tile goes on in: of narrow words, and of others those that are far apart, where not all is vectors.
pub(super) fn joints(canonical: &Canonical, rows: &Placed, cols: &Placed, count: f64) -> f64 {
    let word = canonical.word_bytes();
    let vectors = rows.aligned.min(cols.aligned) >= VECTOR;
    if word >= NARROW && (vectors || !are_far(steps(canonical, cols))) {
        return 0.0;
    }
    // Where what follows a column is most often another of the tile's.
    let goes_on = |&axis: &usize| canonical.axes()[axis].dst == rows.cut.all as isize;
    let count = match cols.cut.axes().find(goes_on) {
        Some(_) if rows.cut.tiles > 1 => count,
        Some(axis) if axis == cols.cut.slowest() => count / cols.cut.indices.max(1) as f64,
        Some(_) => return 0.0,
        None => count,
    };
    let bytes = rows.cut.words * word;
    let ends = rows.aligned.min(1 << bytes.trailing_zeros()).min(SECTOR);
    count * (1.0 - ends as f64 / SECTOR as f64)
}

//! Rows so far apart that they meet in few of the memory's banks, and the tiles that make up for it.
//!
//! What a kernel accesses at a time, a few columns of very many rows, does not spread over the banks if the rows' addresses
//! differ only in high bits. Two columns of tiles at some distance do, so they are walked together (`walk::in_pairs` of
//! the kernels). Measured on an H200: docs/decisions/009-rows-128-kib-apart.md.

/// How many tiles lie between two columns of tiles that are walked together, `distance` bytes apart; 0 to walk one
/// after the other. Rows a multiple of `far_rows` bytes apart meet in few banks.
///
/// `tiles` is how many there are, `tile_row_bytes` what one of a tile's rows takes, and `pitch` the bytes from one row of
/// the matrix to the next, unless those are too many to count.
pub(crate) fn tiles_apart(
    far_rows: usize,
    distance: usize,
    tile_row_bytes: usize,
    tiles: usize,
    pitch: Option<usize>,
) -> usize {
    // Hardly any are: nothing else is divided.
    if !pitch.is_some_and(|pitch| pitch.is_multiple_of(far_rows)) {
        return 0;
    }
    let apart = distance / tile_row_bytes;
    let fits = distance.is_multiple_of(tile_row_bytes) && tiles >= 2 * apart;
    if fits { apart } else { 0 }
}

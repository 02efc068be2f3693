//! A matrix of any size, transposed in host memory by way of a device that holds a few rows of it.
//!
//! With L columns and P panels of m rows, (P, m, L) → (P, L, m) on the device, panel by panel, and (P, L, m) → (L, P, m) on the host: whole
//! stretches of m elements move along cycles. Rows that fill no panel are kept aside and put between the stretches last. A matrix
//! with more columns than rows goes the other way round: (L, P, m) → (P, L, m) → (P, m, L).

use super::super::plan::HostPlan;
use super::super::schedule::Schedule;
use super::super::workspace::Workspace;
use super::{Matrix, cores};
use crate::in_place::destination;
use crate::{Error, Result};
use bytemuck::Pod;

/// Transposes a matrix of the host.
///
/// # Errors
/// [`Error::HostBudget`] if the device's limit does not hold a row and its transpose, [`Error::HostMemory`], and what the device reports.
///
/// # Safety
/// The matrix's elements live, and nobody else uses them meanwhile.
pub(super) unsafe fn transpose<T: Pod>(workspace: &mut Workspace, matrix: Matrix<T>) -> Result<()> {
    let Matrix { start, rows, cols, pinned } = matrix;
    let (long, short) = (rows.max(cols), rows.min(cols));
    let options = *workspace.options();
    let plan = HostPlan::panels(long, short, pinned, size_of::<T>(), &options, cores())?;
    let Schedule::Panels { rows: length, count, .. } = plan.schedule else {
        unreachable!("the schedule of panels")
    };
    // SAFETY: the caller's obligations.
    let elements = unsafe { std::slice::from_raw_parts_mut(start, rows * cols) };
    let filled = count * length;
    if rows >= cols {
        let left = saved(&elements[filled * cols..])?;
        // SAFETY: the panels lie in the elements, which are borrowed exclusively.
        unsafe { workspace.in_place(&plan, elements.as_mut_ptr())? };
        exchange(&mut elements[..filled * cols], (count, cols), length)?;
        spread(elements, &left, (cols, filled));
        return Ok(());
    }
    let left = gathered(elements, (rows, filled))?;
    exchange(&mut elements[..rows * filled], (rows, count), length)?;
    // Each is `rows` stretches of `length`.
    let turned = HostPlan { schedule: Schedule::Panels { rows, cols: length, count }, ..plan };
    // SAFETY: as above.
    unsafe { workspace.in_place(&turned, elements.as_mut_ptr())? };
    let rest = cols - filled;
    for (col, line) in elements[rows * filled..].chunks_exact_mut(rows).enumerate() {
        line.iter_mut().enumerate().for_each(|(row, element)| *element = left[row * rest + col]);
    }
    Ok(())
}

/// A copy of elements.
fn saved<T: Pod>(elements: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    let bytes = size_of_val(elements);
    copy.try_reserve_exact(elements.len()).map_err(|_| Error::HostMemory { bytes })?;
    copy.extend_from_slice(elements);
    Ok(copy)
}

/// Takes what each row has behind its first `kept` elements, row by row, and brings the rest together at the start.
fn gathered<T: Pod>(elements: &mut [T], (rows, kept): (usize, usize)) -> Result<Vec<T>> {
    let cols = elements.len() / rows;
    let mut taken = Vec::new();
    let bytes = rows * (cols - kept) * size_of::<T>();
    taken.try_reserve_exact(rows * (cols - kept)).map_err(|_| Error::HostMemory { bytes })?;
    if kept == cols {
        return Ok(taken);
    }
    for row in 0..rows {
        taken.extend_from_slice(&elements[row * cols + kept..(row + 1) * cols]);
        elements.copy_within(row * cols..row * cols + kept, row * kept);
    }
    Ok(taken)
}

/// Moves rows of `filled` elements from where they lie together to where they belong, and puts the transpose of `left`, which has as many
/// columns as there are rows, behind each.
fn spread<T: Pod>(elements: &mut [T], left: &[T], (rows, filled): (usize, usize)) {
    if left.is_empty() {
        return;
    }
    let cols = elements.len() / rows;
    for row in (0..rows).rev() {
        elements.copy_within(row * filled..(row + 1) * filled, row * cols);
        let gap = &mut elements[row * cols + filled..(row + 1) * cols];
        gap.iter_mut().enumerate().for_each(|(at, element)| *element = left[at * rows + row]);
    }
}

/// Transposes a `rows × cols` matrix of stretches of `length` elements in its own memory, along the cycles of the permutation.
fn exchange<T: Pod>(elements: &mut [T], (rows, cols): (usize, usize), length: usize) -> Result<()> {
    let places = rows * cols;
    debug_assert_eq!(elements.len(), places * length);
    if rows <= 1 || cols <= 1 {
        return Ok(());
    }
    let words = places.div_ceil(64);
    let refused = |_| Error::HostMemory { bytes: words * 8 };
    let mut moved = Vec::new();
    moved.try_reserve_exact(words).map_err(refused)?;
    moved.resize(words, 0u64);
    let mut carried = saved(&elements[..length])?;
    for start in 1..places - 1 {
        if moved[start / 64] >> (start % 64) & 1 == 1 {
            continue;
        }
        carried.copy_from_slice(&elements[start * length..(start + 1) * length]);
        let mut place = start;
        loop {
            place = destination(place, rows, cols);
            moved[place / 64] |= 1 << (place % 64);
            let there = &mut elements[place * length..(place + 1) * length];
            carried.swap_with_slice(there);
            if place == start {
                break;
            }
        }
    }
    Ok(())
}

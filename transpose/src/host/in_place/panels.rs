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

/// Transposes a matrix of the host. All memory that this takes is there before the first element moves.
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
    let filled = count * length;
    workspace.prepare(&plan, align_of::<T>())?;
    let mut left = reserved(short * (long - filled))?;
    let mut cycles = Cycles::new(short * count, length)?;
    // SAFETY: the caller's obligations.
    let elements = unsafe { std::slice::from_raw_parts_mut(start, rows * cols) };
    if rows >= cols {
        left.extend_from_slice(&elements[filled * cols..]);
        // SAFETY: the panels lie in the elements, which are borrowed exclusively.
        unsafe { workspace.in_place(&plan, elements.as_mut_ptr())? };
        cycles.exchange(&mut elements[..filled * cols], (count, cols));
        spread(elements, &left, (cols, filled));
        return Ok(());
    }
    gather(elements, (rows, filled), &mut left);
    cycles.exchange(&mut elements[..rows * filled], (rows, count));
    // Each is `rows` stretches of `length`, and takes what the plan's have taken.
    let turned = HostPlan { schedule: Schedule::Panels { rows, cols: length, count }, ..plan };
    // SAFETY: as above.
    unsafe { workspace.in_place(&turned, elements.as_mut_ptr())? };
    let rest = cols - filled;
    for (col, line) in elements[rows * filled..].chunks_exact_mut(rows).enumerate() {
        line.iter_mut().enumerate().for_each(|(row, element)| *element = left[row * rest + col]);
    }
    Ok(())
}

/// A vector without elements, with room for `elements`.
fn reserved<T>(elements: usize) -> Result<Vec<T>> {
    let mut memory = Vec::new();
    let bytes = elements * size_of::<T>();
    memory.try_reserve_exact(elements).map_err(|_| Error::HostMemory { bytes })?;
    Ok(memory)
}

/// Puts what each row has behind its first `kept` elements into `taken`, row by row, and brings the rest together at the start.
fn gather<T: Pod>(elements: &mut [T], (rows, kept): (usize, usize), taken: &mut Vec<T>) {
    let cols = elements.len() / rows;
    if kept == cols {
        return;
    }
    for row in 0..rows {
        taken.extend_from_slice(&elements[row * cols + kept..(row + 1) * cols]);
        elements.copy_within(row * cols..row * cols + kept, row * kept);
    }
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

/// What moving stretches of elements along cycles takes.
struct Cycles<T> {
    /// A bit for each place: whether the stretch that belongs there is there.
    moved: Vec<u64>,
    /// The stretch that is on its way.
    carried: Vec<T>,
}

impl<T: Pod> Cycles<T> {
    /// For `places` stretches of `length` elements each.
    fn new(places: usize, length: usize) -> Result<Self> {
        let words = places.div_ceil(64);
        let (mut moved, carried) = (reserved(words)?, reserved(length)?);
        moved.resize(words, 0);
        Ok(Cycles { moved, carried })
    }

    /// Transposes a `rows × cols` matrix of stretches in its own memory, along the cycles of the permutation.
    fn exchange(&mut self, elements: &mut [T], (rows, cols): (usize, usize)) {
        if rows <= 1 || cols <= 1 {
            return;
        }
        let places = rows * cols;
        let length = elements.len() / places;
        debug_assert_eq!(elements.len(), places * length);
        self.carried.extend_from_slice(&elements[..length]);
        for start in 1..places - 1 {
            if self.moved[start / 64] >> (start % 64) & 1 == 1 {
                continue;
            }
            self.carried.copy_from_slice(&elements[start * length..(start + 1) * length]);
            let mut place = start;
            loop {
                place = destination(place, rows, cols);
                self.moved[place / 64] |= 1 << (place % 64);
                let there = &mut elements[place * length..(place + 1) * length];
                self.carried.swap_with_slice(there);
                if place == start {
                    break;
                }
            }
        }
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::host::{HostInPlace, HostOptions, HostViewMut, Workspace};
    use crate::{Device, Error};

    #[test]
    fn elements_stay_where_the_device_has_no_memory() {
        let device = Device::simulated();
        let free = device.memory().unwrap().free as usize;
        let _others = device.allocate(free - 2_000).unwrap();
        for (rows, cols) in [(600, 10), (10, 600), (601, 7), (7, 601)] {
            let before: Vec<u32> = (0..rows as u32 * cols as u32).collect();
            let mut elements = before.clone();
            let view = HostViewMut::matrix(&mut elements, rows, cols).unwrap();
            let mut workspace =
                Workspace::new(&device, HostOptions::default().device_memory(8_000));
            let refused = workspace.transpose_in_place(view, HostInPlace::Panels);
            assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
            assert!(elements == before, "{rows} × {cols}");
        }
    }
}

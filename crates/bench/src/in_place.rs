//! Timing transpositions in place beside a copy, verified.
//!
//! An in-place transposition changes its matrix, so every timed run is followed by one back, which
//! is not timed. Matrices come in sets of two, or of as many as do not fit the L2 cache: none is in there when its turn
//! comes, neither for a transposition nor for the copy, which goes from each to another one of the set.

use crate::memory::{ensure_free, matrix_bytes};
use crate::race::rotated;
use anyhow::{Result, ensure};
use bytemuck::Pod;
use rayon::prelude::*;
use std::time::Duration;
use transpose::{Device, DeviceMatrix, Error, InPlace, InPlaceOptions, InPlacePlan};

/// One way to transpose in place.
#[derive(Clone, Copy, Debug)]
pub struct Entrant {
    /// The algorithm.
    pub algorithm: InPlace,
    /// Its sizes.
    pub options: InPlaceOptions,
}

impl From<InPlace> for Entrant {
    fn from(algorithm: InPlace) -> Self {
        Entrant { algorithm, options: InPlaceOptions::default() }
    }
}

/// What came of an entrant; the result has been verified.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The algorithm that ran.
    pub algorithm: InPlace,
    /// Bandwidth in GB/s: the matrix read once and written once. `None` on the simulator.
    pub gb_per_s: Option<f64>,
    /// Bandwidth as a fraction of the copy's.
    pub of_copy: Option<f64>,
    /// Times that the matrix was read and written.
    pub passes: usize,
    /// Extra device memory.
    pub extra_bytes: usize,
    /// The tile.
    pub tile: Option<(usize, usize)>,
    /// The steps and the device's time for each, run one by one.
    pub steps: Vec<(&'static str, Option<Duration>)>,
}

/// An element that depends on all bits of its index.
pub trait Numbered: Pod + PartialEq + Send + Sync {
    /// The element.
    fn numbered(index: usize) -> Self;
}

macro_rules! numbered {
    ($($element:ty),+) => {
        $(impl Numbered for $element {
            fn numbered(index: usize) -> Self {
                let mixed = (index as u64 ^ index as u64 >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (u128::from(mixed ^ mixed >> 32) << 64 | u128::from(mixed ^ mixed >> 31)) as $element
            }
        })+
    };
}

numbered!(u8, u16, u32, u64, u128);

/// Elements of any other size, as arrays.
impl<E: Numbered, const N: usize> Numbered for [E; N]
where
    [E; N]: Pod,
{
    fn numbered(index: usize) -> Self {
        std::array::from_fn(|part| E::numbered(index * N + part))
    }
}

/// What came of each entrant, or why it does not serve the shape; and the copy's speed in GB/s, if the device has a clock.
pub type Compared = (Option<f64>, Vec<Result<Outcome, String>>);

/// How often [`compare`] tells that it goes on.
pub fn steps(entrants: usize, turns: usize) -> usize {
    entrants * (turns + 1)
}

/// Lets the entrants transpose a `rows × cols` matrix by turns, and a copy beside them. On a simulator nothing is timed.
///
/// # Errors
/// A matrix that is empty or too large, what the device reports, or a wrong result.
pub fn compare<T: Numbered>(
    device: &Device,
    (rows, cols): (usize, usize),
    entrants: &[Entrant],
    turns: usize,
    told: &mut dyn FnMut(usize),
) -> Result<Compared> {
    let bytes = matrix_bytes(rows, cols, size_of::<T>())?;
    // The elements and what is read back; the matrix and as much beside it.
    ensure_free(device, bytes.saturating_mul(2), bytes.saturating_mul(2))?;
    let (count, turns) = if device.is_gpu() { (rotated(bytes, bytes), turns) } else { (1, 0) };
    let host: Vec<T> = (0..rows * cols).into_par_iter().map(T::numbered).collect();
    let set = (0..count).map(|_| DeviceMatrix::from_host(device, rows, cols, &host));
    let mut set: Vec<_> = set.collect::<transpose::Result<_>>()?;
    drop(host);
    let mut plans = Vec::new();
    for entrant in entrants {
        match InPlacePlan::with_options(&set[0], entrant.algorithm, &entrant.options) {
            Ok(plan) => plans.push(Ok(plan)),
            Err(Error::NotServed { reason, .. }) => plans.push(Err(reason.to_owned())),
            Err(error) => return Err(error.into()),
        }
    }
    let mut back = None;
    for plan in &mut plans {
        told(1);
        let Ok(plan) = plan else { continue };
        plan.run(&mut set[0])?;
        verify(&set[0], rows, cols, plan)?;
        let back = match &mut back {
            Some(back) => back,
            none => none.insert(InPlacePlan::new(&set[0], InPlace::Auto)?),
        };
        back.run(&mut set[0])?;
    }
    let mut copy_times = Vec::new();
    let mut times = vec![Vec::new(); plans.len()];
    let mut steps = vec![Vec::new(); plans.len()];
    for _ in 0..turns {
        copy_times.push(device.time(|| copy_each(&mut set))?);
        for (plan, times) in plans.iter_mut().zip(&mut times) {
            told(1);
            if let (Ok(plan), Some(back)) = (plan, &mut back) {
                times.push(device.time(|| set.iter_mut().try_for_each(|matrix| plan.run(matrix)))?);
                set.iter_mut().try_for_each(|matrix| back.run(matrix))?;
            }
        }
    }
    for (plan, outcome) in plans.iter_mut().zip(&mut steps) {
        if let (Ok(plan), Some(back), true) = (plan, &mut back, turns > 0) {
            *outcome = plan.run_step_by_step(&mut set[0])?;
            back.run(&mut set[0])?;
        }
    }
    let speed = |times: Vec<Option<Duration>>| {
        let median = median(times)?;
        Some(2.0 * (bytes * count) as f64 / median.as_secs_f64() / 1e9)
    };
    let copy = speed(copy_times);
    let outcomes = plans.into_iter().zip(times).zip(steps).map(|((plan, times), steps)| {
        let plan = plan?;
        let gb_per_s = speed(times);
        Ok(Outcome {
            algorithm: plan.algorithm(),
            gb_per_s,
            of_copy: gb_per_s.zip(copy).map(|(speed, copy)| speed / copy),
            passes: plan.passes(),
            extra_bytes: plan.extra_bytes(),
            tile: plan.tile(),
            steps,
        })
    });
    Ok((copy, outcomes.collect()))
}

/// Copies each matrix of a set, two at least that hold the same, to the one that is half the set away: what a copy reads was written half a set of copies ago.
fn copy_each<T: Pod>(set: &mut [DeviceMatrix<T>]) -> transpose::Result<()> {
    let count = set.len();
    (0..count).try_for_each(|from| {
        let to = (from + count / 2) % count;
        let (before, after) = set.split_at_mut(from.max(to));
        match from < to {
            true => before[from].copy_into(&mut after[0]),
            false => after[0].copy_into(&mut before[to]),
        }
    })
}

/// The median, if there are times.
pub fn median(times: Vec<Option<Duration>>) -> Option<Duration> {
    let mut times: Vec<_> = times.into_iter().flatten().collect();
    times.sort();
    times.get(times.len() / 2).copied()
}

/// Compares every element with what it should be.
fn verify<T: Numbered>(
    matrix: &DeviceMatrix<T>,
    rows: usize,
    cols: usize,
    plan: &InPlacePlan,
) -> Result<()> {
    let transposed = matrix.to_host()?;
    let right = transposed.par_chunks(rows).enumerate().all(|(col, column)| {
        column.iter().enumerate().all(|(row, &e)| e == T::numbered(row * cols + col))
    });
    ensure!(right, "{rows} × {cols} by {}: wrong result", plan.algorithm());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_from_each_matrix_of_a_set_to_each() {
        let device = Device::simulated();
        let matrix = |value| DeviceMatrix::from_host(&device, 1, 1, &[value]).unwrap();
        for expected in [&[0u8, 0][..], &[0, 0, 0], &[0, 1, 0, 1], &[1, 0, 0, 1, 0]] {
            let mut set: Vec<_> = (0..expected.len() as u8).map(matrix).collect();
            copy_each(&mut set).unwrap();
            let all: Vec<u8> = set.iter().map(|matrix| matrix.to_host().unwrap()[0]).collect();
            assert_eq!(all, expected);
        }
    }
}

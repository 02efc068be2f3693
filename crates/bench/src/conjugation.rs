//! Permutations of complex numbers that are conjugated on the way, beside a copy and the same permutation without.

use crate::permutations::Permutation;
use crate::race::{Contestant, Pairs, Timing};
use crate::verify::scrambled;
use anyhow::{Result, bail, ensure};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use transpose::simt::Counters;
use transpose::{Conjugate, Device, DeviceTensor, Plan, TensorLayout};

/// A complex number of two numbers of 16 bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Half([u16; 2]);

impl Conjugate for Half {}

/// A permutation that was made, verified and timed.
pub struct Conjugation {
    /// The plan that conjugates.
    pub plan: Plan,
    /// The plan that does not.
    pub plain: Plan,
    /// What the plan that conjugates does to memory; `None` on a GPU, which does not tell.
    pub counted: Option<Counters>,
    /// Of a copy, of the one and of the other; `None` on a device without a clock.
    pub timings: Option<Vec<Timing>>,
}

/// Permutes complex numbers of `element` bytes, each of which becomes its conjugate, verifies the result, and times it.
///
/// # Errors
/// A wrong result, elements that are not of 4, 8 or 16 bytes, those of the library, and what the device reports.
pub fn race(
    device: &Device,
    permutation: &Permutation,
    element: usize,
    turns: usize,
) -> Result<Conjugation> {
    match element {
        4 => race_of::<Half>(device, permutation, turns),
        8 => race_of::<[f32; 2]>(device, permutation, turns),
        16 => race_of::<[f64; 2]>(device, permutation, turns),
        _ => bail!("complex numbers are of 4, 8 or 16 bytes, not of {element}"),
    }
}

fn race_of<T: Conjugate + Send + Sync>(
    device: &Device,
    Permutation { shape, axes }: &Permutation,
    turns: usize,
) -> Result<Conjugation> {
    let host: Vec<T> = scrambled(shape.iter().product());
    let bytes = size_of_val(host.as_slice());
    let first = DeviceTensor::from_host(device, shape, &host)?;
    let turned = *first.view().permute_axes(axes)?.layout();
    let result = || DeviceTensor::zeroed(device, turned.shape());
    let copy = |(src, _): &(DeviceTensor<T>, _)| Ok((src.view().to_tensor()?, result()?));
    let mut pairs = Pairs::rotated(device, 2 * bytes, 2 * bytes, (first, result()?), copy)?;

    let (src, dst) = pairs.first();
    let plan = Plan::conjugating(src.window(&turned)?, dst.view_mut())?;
    let plain = Plan::moving(src.window(&turned)?, dst.view_mut())?;
    let counted = ::profile::count(device, || plan.run(src.window(&turned)?, dst.view_mut()))?;
    ensure!(is_conjugated(&host, &turned, &dst.to_host()?), "{plan}: wrong result");

    let all = TensorLayout::contiguous(&[host.len()], size_of::<T>())?;
    let mut contestants: Vec<Contestant<DeviceTensor<T>>> =
        vec![Box::new(|src, dst| src.window(&all)?.copy_into(dst.window_mut(&all)?))];
    for plan in [&plan, &plain] {
        contestants.push(Box::new(|src, dst| plan.run(src.window(&turned)?, dst.view_mut())));
    }
    let launches = (2_000_000_000 / (2 * bytes.max(1))).clamp(2, 50);
    let timings = pairs.race(&mut contestants, turns, launches)?;
    drop(contestants);
    Ok(Conjugation { plan, plain, counted, timings })
}

/// Whether `result` has the conjugates of the elements of `host` that a layout says, in row-major order.
fn is_conjugated<T: Pod + Sync>(host: &[T], layout: &TensorLayout, result: &[T]) -> bool {
    let axes = || layout.shape().iter().zip(layout.strides()).rev();
    result.len() == layout.len()
        && result.par_iter().enumerate().with_min_len(4096).all(|(index, number)| {
            let (mut rest, mut from) = (index, layout.offset());
            for (&length, &stride) in axes() {
                from = from.wrapping_add_signed((rest % length) as isize * stride);
                rest /= length;
            }
            let mut expected = host[from];
            // The last byte has the imaginary part's sign.
            let sign = bytemuck::bytes_of_mut(&mut expected).last_mut();
            sign.into_iter().for_each(|byte| *byte ^= 0x80);
            bytemuck::bytes_of(&expected) == bytemuck::bytes_of(number)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_seen() {
        let host: Vec<[f32; 2]> = scrambled(6 * 50);
        let turned = TensorLayout::contiguous(&[6, 50], 8).unwrap().t();
        let device = Device::simulated();
        let tensor = DeviceTensor::from_host(&device, &[6, 50], &host).unwrap();
        let plain = tensor.transposed().unwrap().to_host().unwrap();
        assert!(!is_conjugated(&host, &turned, &plain));
        let mut result = tensor.view().t().conjugated().unwrap().to_host().unwrap();
        assert!(is_conjugated(&host, &turned, &result));
        result[77][0] = -result[77][0];
        assert!(!is_conjugated(&host, &turned, &result));
    }
}

//! Results are what two passes give, of which one moves and one computes.

use crate::case::{Case, Second};
use crate::factor::FromF32;
use crate::memory::{others, source, target};
use anyhow::{Result, ensure};
use bench::race::Pairs;
use transpose::bytemuck;
use transpose::{Arithmetic, ArithmeticPlan, ConvertTo, DeviceMatrix, DeviceTensor, Number};

/// Every byte that a destination has before a plan runs: a number between 2 and 64 of any floating-point type.
const BEFORE: u8 = 0x40;

/// Runs a plan as its case says.
pub fn run_once<T: ConvertTo<U>, U: Number>(
    plan: &ArithmeticPlan<T, U>,
    case: &Case,
    src: &DeviceMatrix<u8>,
    other: &DeviceMatrix<u8>,
    dst: &mut DeviceMatrix<u8>,
) -> transpose::Result<()> {
    let (src, dst) = (source::<T>(src, case)?, target::<U>(dst, case)?);
    match case.second {
        Second::None | Second::Channels(_) => plan.run(src, dst),
        Second::Destination => plan.run_onto(src, dst),
        Second::Numbers(order, gap) => {
            plan.run_adding(src, others::<U>(other, case, order, gap)?, dst)
        }
    }
}

/// The plans of a case, the library's own first, after each has been compared with two passes, of which one moves and one computes.
pub fn verified<T, U>(
    case: &Case,
    pairs: &mut Pairs<DeviceMatrix<u8>>,
    other: &DeviceMatrix<u8>,
    candidates: bool,
) -> Result<Vec<ArithmeticPlan<T, U>>>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let scaling = case
        .alpha
        .map_or(Arithmetic::converting(), |alpha| Arithmetic::scaling(U::Factor::of(alpha)));
    let (one, alpha) = (U::Factor::of(1.0), U::Factor::of(case.alpha.unwrap_or(1.0)));
    let (memory, out) = pairs.first();
    let src = source::<T>(memory, case)?;
    let rows = some_rows(src.shape()[0]);
    let mut expected = Vec::new();
    for &row in &rows {
        let moved: DeviceTensor<T> = src.index_axis(0, row)?.to_tensor()?;
        let mut computed = DeviceTensor::<U>::zeroed(src.device(), moved.shape())?;
        let added = match case.second {
            Second::Numbers(order, gap) => {
                Some(others::<U>(other, case, order, gap)?.index_axis(0, row)?.to_tensor()?)
            }
            Second::Destination => {
                let before: U = bytemuck::pod_read_unaligned(&[BEFORE; 16][..size_of::<U>()]);
                let all = vec![before; moved.view().len()];
                Some(DeviceTensor::from_host(src.device(), moved.shape(), &all)?)
            }
            Second::None | Second::Channels(_) => None,
        };
        match added {
            Some(added) => moved.view().add_into(alpha, &added, one, &mut computed)?,
            None => {
                ArithmeticPlan::new(&scaling, &moved, &mut computed)?.run(&moved, &mut computed)?;
            }
        }
        expected.push(computed.to_host()?);
    }
    let dst = target::<U>(out, case)?;
    let mut plans = match case.second {
        Second::None | Second::Channels(_) => ArithmeticPlan::candidates(&scaling, src, dst)?,
        Second::Destination => ArithmeticPlan::candidates_onto(&scaling, src, one, dst)?,
        Second::Numbers(order, gap) => {
            let added = others::<U>(other, case, order, gap)?;
            ArithmeticPlan::candidates_adding(&scaling, src, one, added, dst)?
        }
    };
    if !candidates {
        plans.truncate(1);
    }
    for plan in &plans {
        out.view_mut().fill(BEFORE)?;
        run_once::<T, U>(plan, case, memory, other, out)?;
        let dst = target::<U>(out, case)?;
        for (&row, expected) in rows.iter().zip(&expected) {
            let actual = dst.view().index_axis(0, row)?.to_host()?;
            let same =
                bytemuck::cast_slice::<U, u8>(&actual) == bytemuck::cast_slice::<U, u8>(expected);
            ensure!(same, "{}: row {row} is wrong: {plan}", case.name());
        }
    }
    Ok(plans)
}

/// Numbers of rows to look at, where there are `rows`: the first, the last, and a few between them.
pub fn some_rows(rows: usize) -> Vec<usize> {
    let mut some: Vec<usize> = (0..7).map(|at| at * (rows - 1) / 6).collect();
    some.dedup();
    some
}

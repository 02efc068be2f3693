//! What other programs are told of the cases: a table, and the bytes of sources and results.

use crate::case::{Case, Second};
use crate::factor::FromF32;
use crate::memory::filled;
use crate::verifying::verified;
use anyhow::{Context, Result};
use bench::race::Pairs;
use std::fmt::Write as _;
use std::path::Path;
use transpose::{ConvertTo, Device, DeviceMatrix, Number};

/// The cases as a table for another program: types, shape, axes, factor, and whether it is added.
pub fn write_table(cases: &[Case], file: &Path) -> Result<()> {
    let joined = |all: &[usize]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut text = "from,to,shape,axes,alpha,adds\n".to_owned();
    for case in cases {
        let Case { types: [from, to], shape, axes, alpha, second, .. } = case;
        let (shape, axes, alpha) = (joined(shape), joined(axes), alpha.unwrap_or(1.0));
        let adds = u8::from(*second == Second::Destination);
        writeln!(text, "{from},{to},{shape},{axes},{alpha},{adds}")?;
    }
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// Writes the bytes of a case's source and of its result.
pub fn write<T, U>(device: &Device, case: &Case, folder: &Path, number: usize) -> Result<()>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let elements = case.elements();
    let src = filled(device, elements * size_of::<T>())?;
    let mut pairs =
        Pairs::of(device, vec![(src, DeviceMatrix::zeroed(device, 1, elements * size_of::<U>())?)]);
    let none = DeviceMatrix::zeroed(device, 1, 1)?;
    verified::<T, U>(case, &mut pairs, &none, false)?;
    let (src, dst) = pairs.first();
    std::fs::write(folder.join(format!("{number}.src")), src.to_host()?)?;
    std::fs::write(folder.join(format!("{number}.dst")), dst.to_host()?)?;
    Ok(())
}

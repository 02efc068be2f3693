//! Messages: a line that says what is wrong, and more lines under it for who asks for more (`{:#}`).

use super::Error;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// A line that says what is wrong and, if the caller asks for more, more lines under it.
fn lines<T: Display>(
    first: impl Display,
    more: impl IntoIterator<Item = T>,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    write!(f, "{first}")?;
    if f.alternate() {
        more.into_iter().try_for_each(|line| write!(f, "\n  {line}"))?;
    }
    Ok(())
}

pub fn no_grid(problem: &String, f: &mut Formatter<'_>) -> fmt::Result {
    lines("no kernel has a grid that covers so large a problem", [problem], f)
}

/// Two devices of one name are not told apart by it.
pub fn device_mismatch(src: &String, dst: &String, f: &mut Formatter<'_>) -> fmt::Result {
    if src != dst {
        return write!(f, "the source is on {src}, the destination on {dst}");
    }
    write!(
        f,
        "source and destination are on two devices, both {src}: only clones and streams of one share memory"
    )
}

pub fn plan_mismatch(planned: &String, actual: &String, f: &mut Formatter<'_>) -> fmt::Result {
    let more = [format!("planned: {planned}"), format!("given: {actual}")];
    lines(
        "the plan is for other shapes, layouts, alignments or elements than it was given",
        more,
        f,
    )
}

pub fn graph_mismatch(
    of: &usize,
    captured: &String,
    given: &String,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let more = [format!("captured: {captured}"), format!("given: {given}")];
    lines(
        format_args!(
            "move {of} is not the graph's: another address, layout or element size, or one too many or few"
        ),
        more,
        f,
    )
}

/// Elements that are counted whatever their size count as bytes.
pub fn tensor_size_overflow(
    shape: &[usize],
    element_bytes: &usize,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    match element_bytes {
        0 | 1 => write!(f, "{shape:?} elements are more than can be counted"),
        bytes => {
            write!(f, "{shape:?} elements of {bytes} bytes are more bytes than can be addressed")
        }
    }
}

/// More elements than a matrix of the shape has, by which its rows are apart.
pub fn length_mismatch(
    rows: &usize,
    cols: &usize,
    expected: &usize,
    actual: &usize,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let elements = rows.saturating_mul(*cols);
    if *expected <= elements {
        return write!(
            f,
            "a {rows} × {cols} matrix has {expected} elements, the slice has {actual}"
        );
    }
    let ld = expected.saturating_sub(*cols) / rows.saturating_sub(1).max(1);
    write!(
        f,
        "a {rows} × {cols} matrix, rows {ld} apart, takes up {expected} elements, the slice has {actual}"
    )
}

/// Elements may end behind the memory, or begin before it.
pub fn tensor_out_of_bounds(
    shape: &[usize],
    strides: &[isize],
    offset: &usize,
    available: &usize,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    write!(f, "{shape:?} elements, {strides:?} apart, from element {offset} on, ")?;
    let lengths = shape.iter().map(|&length| length.saturating_sub(1) as i128);
    let below: i128 = lengths.zip(strides).map(|(far, &stride)| -far * stride.min(0) as i128).sum();
    match below - *offset as i128 {
        1.. => write!(f, "begin {} before the memory's start", below - *offset as i128),
        _ => write!(f, "do not lie within the {available} elements that there are"),
    }
}

pub fn interrupted(source: &Error, f: &mut Formatter<'_>) -> fmt::Result {
    let first = "transposing in place failed midway, the matrix's contents are unspecified";
    lines(first, [format!("{source:#}")], f)
}

/// What a file is called in a message.
pub fn file(path: &Option<PathBuf>, otherwise: &'static str) -> String {
    path.as_ref().map_or_else(|| otherwise.to_owned(), |path| path.display().to_string())
}

/// The names that there are stand under the line if it would be too long with them.
pub fn unknown_name(
    kind: &str,
    name: &String,
    known: &String,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let first = format!("there is no {kind} {name:?}");
    if first.chars().count() + known.chars().count() < 100 {
        return write!(f, "{first}; there are {known}");
    }
    lines(first, [format!("there are {known}")], f)
}

pub fn no_driver(reason: &String, attempts: &[String], f: &mut Formatter<'_>) -> fmt::Result {
    lines(format_args!("no NVIDIA driver: {reason}"), attempts, f)
}

/// The first of them, and how many there are besides.
#[cfg(feature = "simulator")]
pub fn kernel_defects(_: &str, findings: &[simt::Finding], f: &mut Formatter<'_>) -> fmt::Result {
    let Some(first) = findings.first() else { return f.write_str("simulator: a defect") };
    let others = match findings.len() - 1 {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    lines(format_args!("simulator: {}{others}", briefly(first)), findings, f)
}

#[cfg(feature = "simulator")]
pub fn simulator(error: &simt::Error, f: &mut Formatter<'_>) -> fmt::Result {
    match error {
        simt::Error::Fault(fault) => {
            let all = std::iter::once(&fault.finding).chain(&fault.earlier);
            lines(format_args!("simulator: {}", briefly(&fault.finding)), all, f)
        }
        other => write!(f, "simulator: {other}"),
    }
}

/// What was found and in which line, without the threads, the bytes and the explanation.
#[cfg(feature = "simulator")]
fn briefly(finding: &simt::Finding) -> String {
    let simt::Finding { kind, kernel, site, .. } = finding;
    match site.line {
        0 => format!("{kind} in kernel `{kernel}`"),
        line => format!("{kind} in kernel `{kernel}`, PTX line {line}"),
    }
}

/// What became of a call of a library that is opened at run time.
#[cfg(any(feature = "mpi", feature = "nccl"))]
pub fn of_library(library: &str, operation: &str, code: i32, text: &str) -> String {
    match operation {
        "dlopen" => format!("{library} is not there: {text}"),
        _ => format!("{operation} failed with {code}: {text}"),
    }
}

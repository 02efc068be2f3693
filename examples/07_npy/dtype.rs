//! How many bytes an element has, by NumPy's description of it.
//!
//! A description is a string (`'<f8'`), a list of fields (`[('x', '<f8'), ('y', '<i4', (3,))]`, whose formats are descriptions
//! themselves), or a tuple of a description and a shape. Fields follow each other; gaps between them are fields without a name.

use crate::literal::{Literal, Value};
use anyhow::{Context, Result, bail, ensure};

/// The bytes of an element.
///
/// # Errors
/// Python objects, which have no bytes, and what is no description.
pub fn element_bytes(descr: &Literal) -> Result<usize> {
    match &descr.value {
        Value::Text(code) => of_code(code),
        Value::Tuple(parts) => match &parts[..] {
            [base, shape] => of_many(element_bytes(base)?, shape),
            _ => bail!("{} is no dtype", brief(descr.text)),
        },
        Value::List(fields) => fields.iter().try_fold(0, |sum: usize, field| {
            sum.checked_add(of_field(field)?).context("an element has too many bytes")
        }),
        _ => bail!("{} is no dtype", brief(descr.text)),
    }
}

/// The bytes of a field: its name (or title and name), its format, and perhaps a shape.
fn of_field(field: &Literal) -> Result<usize> {
    let parts = match &field.value {
        Value::Tuple(parts) => &parts[..],
        _ => &[],
    };
    match parts {
        [_, format] => element_bytes(format),
        [_, format, shape] => of_many(element_bytes(format)?, shape),
        _ => bail!("{} is no field of a dtype", brief(field.text)),
    }
}

/// The bytes of as many elements as a shape, or a number, says.
fn of_many(bytes: usize, shape: &Literal) -> Result<usize> {
    let lengths = match &shape.value {
        Value::Tuple(lengths) => &lengths[..],
        _ => std::slice::from_ref(shape),
    };
    lengths.iter().try_fold(bytes, |bytes, length| {
        bytes.checked_mul(integer(length)?).context("an element has too many bytes")
    })
}

/// The bytes of what a code such as `<f8`, `|S5`, `<U7`, `|V12` or `<M8[25us]` stands for.
fn of_code(code: &str) -> Result<usize> {
    let unknown = || format!("the dtype {:?} is not one that NumPy stores", brief(code));
    let code_alone = code.strip_prefix(['<', '>', '|', '=']).unwrap_or(code);
    let rest = code_alone.get(1..).with_context(unknown)?;
    let kind = code_alone.as_bytes()[0];
    ensure!(kind != b'O', "elements hold Python objects, which have no bytes");
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = rest.split_at(digits);
    let is_time = matches!(kind, b'M' | b'm');
    let unit_fits = unit.is_empty() || is_time && unit.starts_with('[') && unit.ends_with(']');
    ensure!(b"?biufcmMSaUV".contains(&kind) && unit_fits, unknown());
    let count: usize = count.parse().with_context(unknown)?;
    // A character of Unicode has four bytes.
    let width = if kind == b'U' { 4 } else { 1 };
    count.checked_mul(width).with_context(unknown)
}

/// A number of things; Python 2 wrote an L behind long ones.
///
/// # Errors
/// Anything else.
pub fn integer(literal: &Literal) -> Result<usize> {
    let number = match literal.value {
        Value::Word(word) => word.strip_suffix('L').unwrap_or(word).parse().ok(),
        _ => None,
    };
    number.with_context(|| format!("{} is no length", brief(literal.text)))
}

/// The start of a text that may be long, for messages.
pub fn brief(text: &str) -> String {
    const MOST: usize = 60;
    let mut start: String = text.chars().take(MOST).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

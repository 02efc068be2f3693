//! How often a program does something at most, so that an absurd number is refused and neither overflows nor takes all memory.

use crate::program;

/// Turns, repetitions and random cases at most.
const MOST: usize = 100_000;

/// Parses how often something is done, or how many cases are drawn.
///
/// # Errors
/// Nothing, more than 100,000, and what is no number.
pub fn times(text: &str) -> Result<usize, String> {
    let number = program::count(text)?;
    if number > MOST { Err(format!("{MOST} at most")) } else { Ok(number) }
}

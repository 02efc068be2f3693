//! The kinds of numbers: real and complex ones. One does not become the other.

/// The kind of real numbers.
#[derive(Debug)]
pub enum Real {}

/// The kind of complex numbers.
#[derive(Debug)]
pub enum Complex {}

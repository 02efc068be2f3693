//! What the kernels and the host that launches them agree on, written once for both.
//!
//! A kernel takes two addresses and one structure of 64-bit fields, its [`Params`]. Every kernel has
//! a row in the table of its family: its name, the element widths that it has entry points for, and
//! the blocks that they run in. From the rows come the names that the host looks up, the block directives
//! (`.reqntid`, `.maxntid`) of the PTX, and the lists that tests and benchmarks go through.
//!
//! | file | what it is about |
//! |---|---|
//! | `width` | the bytes of an element |
//! | `table` | rows: kernels, their entry points and blocks |
//! | `params` | what a kernel takes after its two addresses |
//! | `arithmetic`, `classic`, `fast`, `in_place`, `study`, `tensor` | the families: parameters, tiles and rows of their kernels |
//!
//! # Adding a kernel
//! Write its parameters and its row into its family's file here, its code into a file of `kernels/`, and the
//! grid that covers a problem into a planning file of the host.

#![no_std]

pub mod arithmetic;
pub mod classic;
pub mod fast;
pub mod in_place;
mod params;
pub mod study;
mod table;
pub mod tensor;
mod width;

pub use params::Params;
pub use table::{Block, Entry, Family, Kernel};
pub use width::Width;

pub(crate) use params::params;
pub(crate) use table::table;

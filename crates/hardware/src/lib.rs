//! What a GPU computes and what its memory allows, beside what the simulator says.
//!
//! [`opcodes`] lists instructions by type, [`operands`] what they are given, [`probe`] makes kernels of them and runs these on the
//! simulator or on a [`gpu`]; a [`table`] holds what a GPU answered. [`litmus`] lists small programs whose results tell what order memory keeps.

#![deny(clippy::missing_errors_doc)]

pub mod gpu;
pub mod litmus;
pub mod opcodes;
pub mod operands;
pub mod probe;
pub mod table;

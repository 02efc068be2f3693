//! The classic ladder: each kernel removes the bottleneck of the one before.
//!
//! Source: Ruetsch, Micikevicius and Scudiero, "Optimizing Matrix Transpose in CUDA" (2009).

pub mod copy;
pub mod naive;
pub mod tiled;

//! The study kernels: every kernel of the texts that this project grew from, measured and tested
//! like the others. Some are not transposes; each says what it does instead.
//!
//! | file | kernels |
//! |---|---|
//! | `staged` | Ruetsch, Micikevicius and Scudiero: the copy through shared memory, the two halves of a transpose, the walk with exchanged axes |
//! | `direct` | Dalmasso: rows and columns without shared memory, plain, unrolled, along diagonals |
//! | `blocks` | Dalmasso: through shared memory, for blocks of any shape; AMD: through square tiles |
//! | `fields` | Grossi: a structure of arrays against an array of structures |
//!
//! Their first ladder (`copy`, `naive`, `tiled`, `padded`, `diagonal`) is the `classic` family.

pub mod blocks;
pub mod direct;
pub mod fields;
pub mod shared;
pub mod staged;

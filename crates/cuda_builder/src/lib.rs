//! Builds a Rust GPU crate to PTX with the NVPTX backend of rustc.

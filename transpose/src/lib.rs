//! Matrix transposition on NVIDIA GPUs, at the speed of a copy.

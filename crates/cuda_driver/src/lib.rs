//! Binds libcuda at run time, so that a binary starts with or without an NVIDIA driver.

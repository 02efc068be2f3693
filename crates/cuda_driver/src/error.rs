//! What can be wrong with the driver of this machine.

use std::fmt;

/// Why the CUDA driver cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file could be opened as the driver library.
    #[error("no CUDA driver library could be opened: {}", list(tried))]
    NoLibrary {
        /// Each name that was tried, in order.
        tried: Vec<Attempt>,
    },

    /// There is no CUDA driver for this operating system and processor.
    #[error("CUDA has no driver for {os} on {arch}")]
    UnsupportedTarget {
        /// The operating system, as in [`std::env::consts::OS`].
        os: &'static str,
        /// The processor, as in [`std::env::consts::ARCH`].
        arch: &'static str,
    },

    /// The library opened but lacks a function that every CUDA driver has.
    #[error("{library} is not a CUDA driver: it has no {symbol}")]
    NotADriver {
        /// The name under which the library was opened.
        library: String,
        /// The missing function.
        symbol: &'static str,
    },

    /// The driver refused a call.
    #[error("{function} of {library} failed with CUDA error {code} ({meaning})")]
    Call {
        /// The name under which the library was opened.
        library: String,
        /// The function called.
        function: &'static str,
        /// The `CUresult` it returned.
        code: u32,
        /// What the driver says the code means.
        meaning: String,
    },
}

/// One name under which the driver library was looked for, in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The file name or path.
    pub name: String,
    /// The dynamic loader's message.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // glibc opens its message with the name.
        if self.reason.contains(&self.name) {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.name, self.reason)
        }
    }
}

fn list(tried: &[Attempt]) -> String {
    let lines: Vec<String> = tried.iter().map(Attempt::to_string).collect();
    lines.join("; ")
}

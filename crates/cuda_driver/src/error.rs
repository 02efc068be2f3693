//! The one error type: there is no driver that can be used, or it refused a call.

use std::fmt;

/// What can go wrong with the CUDA driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file could be opened as the driver library.
    #[error("no CUDA driver library could be opened")]
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

    /// The library opened but lacks a function that every driver since CUDA 11.0 has.
    #[error("{library} is no CUDA driver, or one from before CUDA 11: it has no {symbol}")]
    NotADriver {
        /// The name under which the library was opened.
        library: String,
        /// The missing function.
        symbol: &'static str,
    },

    /// The driver refused a call, or reported by it that earlier work failed.
    #[error("{function} answered {code}: {}", Explained(*name, *text))]
    Call {
        /// The driver's function.
        function: &'static str,
        /// Its answer, a `CUresult`.
        code: u32,
        /// The driver's name for the answer, such as `CUDA_ERROR_OUT_OF_MEMORY`; `None` if it has none.
        name: Option<&'static str>,
        /// The driver's explanation of it; `None` if it has none.
        text: Option<&'static str>,
    },
}

impl Error {
    /// `CUDA_ERROR_OUT_OF_MEMORY`, as the code of a call's answer.
    pub const OUT_OF_MEMORY: u32 = 2;

    /// The driver's answer, if it gave one.
    pub fn code(&self) -> Option<u32> {
        match self {
            Error::Call { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the device is lost to this process: every later call on it answers the same, and only a new process has it again.
    ///
    /// That is what CUDA says of kernels that went wrong (illegal addresses and instructions, traps, timeouts) and of hardware that
    /// did (memory errors, links), and of contexts that are gone. An answer that only newer drivers know does not count.
    pub fn is_sticky(&self) -> bool {
        self.code().is_some_and(|code| STICKY.contains(&code))
    }
}

/// The answers of which CUDA's reference says that the context or the process cannot go on, by their names without `CUDA_ERROR_`.
const STICKY: [u32; 16] = [
    214, // ECC_UNCORRECTABLE
    220, // NVLINK_UNCORRECTABLE
    226, // CONTAINED
    700, // ILLEGAL_ADDRESS
    702, // LAUNCH_TIMEOUT
    709, // CONTEXT_IS_DESTROYED
    710, // ASSERT
    714, // HARDWARE_STACK_ERROR
    715, // ILLEGAL_INSTRUCTION
    716, // MISALIGNED_ADDRESS
    717, // INVALID_ADDRESS_SPACE
    718, // INVALID_PC
    719, // LAUNCH_FAILED
    721, // TENSOR_MEMORY_LEAK
    810, // MPS_CLIENT_TERMINATED
    911, // EXTERNAL_DEVICE
];

/// A driver's name for an answer and its explanation, as far as there are any.
struct Explained(Option<&'static str>, Option<&'static str>);

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Explained(Some(name), Some(text)) => write!(f, "{name} ({text})"),
            Explained(Some(words), None) | Explained(None, Some(words)) => f.write_str(words),
            Explained(None, None) => f.write_str("a code that this driver does not explain"),
        }
    }
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

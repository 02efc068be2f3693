//! What the kernel is being compiled for.

use core::fmt;

/// Declares the chips once: the variants, their order, and the numbers that
/// `cuda_builder` puts into `CUDA_ARCH`.
macro_rules! capabilities {
    ($($variant:ident = $number:literal, $version:literal;)*) => {
        /// A compute capability: `Compute86` is 8.6.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(#[doc = concat!("Compute capability ", $version, ".")] $variant,)*
        }

        impl ComputeCapability {
            /// The capability whose number, times ten, `text` spells.
            const fn parse(text: &str) -> Option<Self> {
                $(if same(text, $number) { return Some(Self::$variant); })*
                None
            }
        }

        impl fmt::Display for ComputeCapability {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(match self { $(Self::$variant => $version,)* })
            }
        }
    };
}

capabilities! {
    Compute35 = "350", "3.5";
    Compute37 = "370", "3.7";
    Compute50 = "500", "5.0";
    Compute52 = "520", "5.2";
    Compute53 = "530", "5.3";
    Compute60 = "600", "6.0";
    Compute61 = "610", "6.1";
    Compute62 = "620", "6.2";
    Compute70 = "700", "7.0";
    Compute72 = "720", "7.2";
    Compute75 = "750", "7.5";
    Compute80 = "800", "8.0";
    Compute86 = "860", "8.6";
    Compute87 = "870", "8.7";
    Compute89 = "890", "8.9";
    Compute90 = "900", "9.0";
    Compute100 = "1000", "10.0";
    Compute103 = "1030", "10.3";
    Compute120 = "1200", "12.0";
    Compute121 = "1210", "12.1";
}

impl ComputeCapability {
    /// The capability that `cuda_builder` is building for, a constant: a comparison
    /// with it costs nothing and the other branch is not compiled in.
    ///
    /// On the host there is none, and the call panics.
    #[inline(always)]
    pub fn from_cuda_arch_env() -> Self {
        const BUILT_FOR: Option<ComputeCapability> = match option_env!("CUDA_ARCH") {
            Some(number) => ComputeCapability::parse(number),
            None => None,
        };
        match BUILT_FOR {
            Some(capability) => capability,
            None => panic!("CUDA_ARCH is set by cuda_builder, and names a compute capability"),
        }
    }
}

/// `==` for strings, in constants.
const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::ComputeCapability as Capability;

    #[test]
    fn parses_what_the_builder_writes() {
        assert_eq!(Capability::parse("700"), Some(Capability::Compute70));
        assert_eq!(Capability::parse("1200"), Some(Capability::Compute120));
        assert_eq!(Capability::parse("70"), None);
        assert!(Capability::Compute90 < Capability::Compute100);
    }
}

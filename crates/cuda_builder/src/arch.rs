//! The chips that PTX can be made for.

use std::fmt;

/// Declares each chip once.
macro_rules! archs {
    ($($variant:ident = $number:literal, $doc:literal;)*) => {
        /// A virtual architecture: the oldest chip that the PTX will run on. The driver
        /// compiles it for newer ones.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum NvvmArch {
            $(#[doc = $doc] $variant,)*
        }

        impl NvvmArch {
            /// Every architecture, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Ten times the compute capability: 75 for 7.5.
            pub fn number(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }
        }
    };
}

archs! {
    Compute35 = 35, "Kepler: Tesla K40.";
    Compute37 = 37, "Kepler: Tesla K80.";
    Compute50 = 50, "Maxwell: GTX 750.";
    Compute52 = 52, "Maxwell: GTX 900 series.";
    Compute53 = 53, "Maxwell: Jetson Nano.";
    Compute60 = 60, "Pascal: Tesla P100.";
    Compute61 = 61, "Pascal: GTX 10 series.";
    Compute62 = 62, "Pascal: Jetson TX2.";
    Compute70 = 70, "Volta: V100.";
    Compute72 = 72, "Volta: Jetson Xavier.";
    Compute75 = 75, "Turing: RTX 20 series, T4.";
    Compute80 = 80, "Ampere: A100.";
    Compute86 = 86, "Ampere: RTX 30 series.";
    Compute87 = 87, "Ampere: Jetson Orin.";
    Compute89 = 89, "Ada: RTX 40 series, L4.";
    Compute90 = 90, "Hopper: H100, H200.";
    Compute100 = 100, "Blackwell: B200.";
    Compute103 = 103, "Blackwell: B300.";
    Compute120 = 120, "Blackwell: RTX 50 series.";
    Compute121 = 121, "Blackwell: GB10.";
}

impl NvvmArch {
    /// What rustc and ptxas call it: `sm_75`.
    pub fn target_cpu(self) -> String {
        format!("sm_{}", self.number())
    }

    /// The value of `CUDA_ARCH`, from which `cuda_std` knows the chip: `750`.
    pub fn cuda_arch(self) -> String {
        format!("{}0", self.number())
    }
}

impl Default for NvvmArch {
    /// 6.1, the default of the published builder.
    fn default() -> Self {
        Self::Compute61
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "compute_{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::NvvmArch;

    #[test]
    fn names_follow_the_number() {
        for arch in NvvmArch::ALL {
            let number = arch.number();
            assert_eq!(format!("{arch:?}"), format!("Compute{number}"));
            assert_eq!(arch.target_cpu(), format!("sm_{number}"));
            assert_eq!(arch.to_string(), format!("compute_{number}"));
        }
        assert!(NvvmArch::ALL.is_sorted());
    }
}

//! The machine code of the kernels, assembled and compressed by `cargo xtask cubin`: where it fits, the driver need
//! not compile.
//!
//! One file for each family and chip, and two of `fast` for compute capability 9.0: a program expands no more than it runs. All are compressed alike, also those
//! of `fast`, which the first transpose of a program waits for: expanding its 0.4 MB for one chip takes 0.1 ms, and
//! 0.7 ms for the 1.9 MB of `in_place`. As LZ4 blocks they all take 3.4 MB in place of 15.7. zlib would save another
//! 8 %, but take 0.9 ms and 4.3 ms; zstd's smaller files take 1.5 ms and 6.4 ms.

use super::Family;

/// No file expands to more bytes than this.
const LARGEST: usize = 16 << 20;

/// The files of one family, by the compute capability that they were assembled for.
macro_rules! files {
    ($family:literal) => {
        [
            ((7, 5), &include_bytes!(concat!("../../cubin/", $family, ".sm_75.cubin.lz4"))[..]),
            ((8, 0), &include_bytes!(concat!("../../cubin/", $family, ".sm_80.cubin.lz4"))[..]),
            ((9, 0), &include_bytes!(concat!("../../cubin/", $family, ".sm_90.cubin.lz4"))[..]),
            ((10, 0), &include_bytes!(concat!("../../cubin/", $family, ".sm_100.cubin.lz4"))[..]),
            ((12, 0), &include_bytes!(concat!("../../cubin/", $family, ".sm_120.cubin.lz4"))[..]),
        ]
    };
}

impl Family {
    /// Whether there are two kinds of machine code for that chip: what the L2 cache gives up first makes a
    /// difference, and which is better depends on the matrix. Where there is one kind it is the better one for all.
    pub fn may_evict_last(self, capability: (i32, i32)) -> bool {
        (self, capability) == (Family::Fast, (9, 0))
    }

    /// The kernels' machine code for a chip that [may](Self::may_evict_last): what is loaded is evicted last.
    pub fn cubin_evict_last(self) -> Option<Vec<u8>> {
        expanded(include_bytes!("../../cubin/fast_evict_last.sm_90.cubin.lz4"))
    }

    /// Whether the machine code for that chip waits by itself for the launches before its own, so that those need not be
    /// done when it starts: `kernels/src/launch.rs`. `cargo xtask cubin` makes sure of it.
    pub fn waits(self, capability: (i32, i32)) -> bool {
        matches!(self, Family::Fast | Family::InPlace) && capability == (9, 0)
    }

    /// The kernels' machine code for a chip of that compute capability, if there is any. It runs on
    /// chips of the same major and the same or a higher minor number.
    pub fn cubin(self, (major, minor): (i32, i32)) -> Option<Vec<u8>> {
        let fits = |of: (i32, i32)| of.0 == major && of.1 <= minor;
        let (_, file) = self.files().into_iter().find(|(of, _)| fits(*of))?;
        expanded(file)
    }

    fn files(self) -> [((i32, i32), &'static [u8]); 5] {
        match self {
            Family::Classic => files!("classic"),
            Family::Fast => files!("fast"),
            Family::Study => files!("study"),
            Family::InPlace => files!("in_place"),
        }
    }
}

/// What was compressed into a file: the number of its bytes, 32 bits, and an LZ4 block. None if the file is damaged.
fn expanded(file: &[u8]) -> Option<Vec<u8>> {
    let (bytes, block) = lz4_flex::block::uncompressed_size(file).ok()?;
    if bytes > LARGEST {
        return None;
    }
    lz4_flex::block::decompress(block, bytes).ok().filter(|code| code.len() == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The compute capabilities that files are for, and the assembler's names of them.
    const CHIPS: [((i32, i32), &str); 5] = [
        ((7, 5), "sm_75"),
        ((8, 0), "sm_80"),
        ((9, 0), "sm_90"),
        ((10, 0), "sm_100"),
        ((12, 0), "sm_120"),
    ];

    #[test]
    fn machine_code_serves_its_generation() {
        let later = [((8, 0), (8, 6)), ((8, 0), (8, 9)), ((10, 0), (10, 3)), ((12, 0), (12, 1))];
        for family in Family::ALL {
            for (first, later) in later {
                assert!(family.cubin(first) == family.cubin(later), "{family:?} on {later:?}");
            }
            for unknown in [(7, 0), (7, 2), (11, 0), (13, 0)] {
                assert!(family.cubin(unknown).is_none(), "{family:?} on {unknown:?}");
            }
        }
    }

    #[test]
    fn machine_code_is_of_its_chip_and_has_every_kernel() {
        for family in Family::ALL {
            let kernels: Vec<_> = entry_points(family.ptx()).collect();
            assert!(!kernels.is_empty());
            for (capability, chip) in CHIPS {
                let code = family.cubin(capability).expect("each chip has machine code");
                check(&code, chip, &kernels);
                if family.may_evict_last(capability) {
                    let other = family.cubin_evict_last().expect("it is intact");
                    assert!(code != other);
                    check(&other, chip, &kernels);
                }
            }
        }
    }

    /// Checks that machine code is for a chip and has the kernels.
    fn check(code: &[u8], chip: &str, kernels: &[&str]) {
        assert!(code.starts_with(b"\x7fELF"), "{kernels:?} on {chip}");
        let strings: HashSet<_> = code.split(|&byte| byte == 0).collect();
        // The assembler notes its options, and makes each kernel a section.
        let option = format!("-arch {chip} ");
        let noted = strings.iter().any(|string| string.ends_with(option.as_bytes()));
        assert!(noted, "{kernels:?} are not for {chip}");
        for kernel in kernels {
            let section = format!(".text.{kernel}");
            assert!(strings.contains(section.as_bytes()), "{kernel} on {chip}");
        }
    }

    /// The names of a PTX's kernels.
    fn entry_points(ptx: &str) -> impl Iterator<Item = &str> {
        ptx.split(".entry ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.0))
    }

    #[test]
    fn damaged_files_do_not_panic() {
        let [(_, file), ..] = Family::Classic.files();
        for length in (0..file.len()).step_by(997) {
            assert!(expanded(&file[..length]).is_none(), "{length} bytes");
        }
        for at in (0..file.len()).step_by(197) {
            let mut damaged = file.to_vec();
            damaged[at] ^= 0x55;
            // Whether it still expands does not matter: blocks have no checksum.
            let _ = expanded(&damaged);
        }
        assert!(expanded(&[0xff; 64]).is_none(), "4 GiB");
    }
}

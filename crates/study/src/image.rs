//! The kernels of the texts as they ship: `cargo xtask ptx` and `cargo xtask cubin` write the files.

use transpose::raw::{Image, MachineCode};

/// Their PTX and machine code.
pub(crate) static STUDY: Image =
    Image::packed("study", include_bytes!("../ptx/study.ptx.lzma"), CODE);

/// A file of machine code.
macro_rules! code {
    ($major:literal $minor:literal, $chip:literal) => {
        MachineCode {
            capability: ($major, $minor),
            waits: false,
            evict_last: false,
            packed: include_bytes!(concat!("../cubin/study.", $chip, ".cubin.lzma")),
        }
    };
}

const CODE: &[MachineCode] = &[
    code!(7 5, "sm_75"),
    code!(8 0, "sm_80"),
    code!(9 0, "sm_90"),
    code!(10 0, "sm_100"),
    code!(12 0, "sm_120"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_abi::study::STUDY as TABLE;
    use kernel_abi::{Block, Entry};
    use std::collections::HashSet;

    fn entries() -> impl Iterator<Item = &'static Entry> {
        TABLE.iter().copied().flatten()
    }

    /// The table and the PTX have the same entry points, and the PTX says what blocks the table names.
    #[test]
    fn the_ptx_is_what_the_table_says() {
        let ptx = STUDY.ptx();
        assert_eq!(ptx.matches(".entry ").count(), entries().count());
        for Entry { name, block, .. } in entries() {
            let directive = match block {
                Block::Exactly([x, y, z]) => format!(".reqntid {x}, {y}, {z}\n"),
                Block::AtMost(threads) => format!(".maxntid {threads}\n"),
                Block::Within(_) => String::new(),
            };
            let (_, rest) = ptx.split_once(&format!(".entry {name}(")).expect("it is built");
            let (head, _) = rest.split_once("\n{").expect("it has a body");
            assert!(format!("{head}\n").contains(&directive), "{name} {directive}");
        }
    }

    #[test]
    fn machine_code_is_of_its_chip_and_has_every_kernel() {
        for code in CODE {
            let (major, minor) = code.capability;
            let code = code.expanded().expect("it is intact");
            let strings: HashSet<_> = code.split(|&byte| byte == 0).collect();
            let option = format!("-arch sm_{major}{minor} ");
            assert!(strings.iter().any(|string| string.ends_with(option.as_bytes())), "{option}");
            for Entry { name, .. } in entries() {
                let section = format!(".text.{name}");
                assert!(strings.contains(section.as_bytes()), "{name} {option}");
            }
        }
    }
}

//! What `.version` and `.target` an opcode asks for: a module that names lower ones is refused here as by the assembler, whose answers these are.

/// A version of PTX, and a compute capability as in `sm_70`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub version: (u32, u32),
    pub target: u32,
}

impl Requirement {
    const fn new(major: u32, minor: u32, target: u32) -> Requirement {
        Requirement { version: (major, minor), target }
    }

    /// Both of what two ask for.
    fn and(self, other: Requirement) -> Requirement {
        Requirement {
            version: self.version.max(other.version),
            target: self.target.max(other.target),
        }
    }

    /// What a module says of itself; whatever cannot be read is taken for enough.
    pub(crate) fn of_module(version: &str, target: &str) -> Requirement {
        let (major, minor) = version.trim().split_once('.').unwrap_or((version, ""));
        let number = |text: &str| text.trim().parse().unwrap_or(u32::MAX);
        let digits = target.trim().strip_prefix("sm_").map(|rest| {
            rest.trim_end_matches(|c: char| !c.is_ascii_digit())
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap_or("")
        });
        let target = digits.map_or(u32::MAX, number);
        Requirement { version: (number(major), number(minor)), target }
    }

    /// Whether a module that says this of itself may use what asks for `other`.
    pub(crate) fn allows(self, other: Requirement) -> bool {
        self.version >= other.version && self.target >= other.target
    }
}

/// What an opcode asks for, as written.
pub(crate) fn required(opcode: &str) -> Requirement {
    let mut parts = opcode.split('.');
    let base = parts.next().unwrap_or("");
    let parts: Vec<&str> = parts.collect();
    let all = parts.iter().map(|part| of_part(base, part));
    all.fold(of_base(base), Requirement::and)
}

fn of_base(base: &str) -> Requirement {
    match base {
        "redux" => Requirement::new(7, 0, 80),
        "cp" => Requirement::new(7, 0, 80),
        "griddepcontrol" => Requirement::new(7, 8, 90),
        "activemask" => Requirement::new(6, 2, 30),
        "match" | "fence" => Requirement::new(6, 0, 70),
        "nanosleep" => Requirement::new(6, 3, 70),
        "barrier" => Requirement::new(6, 0, 30),
        "lop3" => Requirement::new(4, 3, 50),
        "shf" => Requirement::new(3, 1, 32),
        _ => Requirement::new(1, 0, 0),
    }
}

fn of_part(base: &str, part: &str) -> Requirement {
    let accesses = matches!(base, "ld" | "st" | "atom" | "red");
    match part {
        "acquire" | "release" if base == "fence" => Requirement::new(8, 6, 90),
        "relaxed" | "acquire" | "release" | "acq_rel" | "weak" if accesses => {
            Requirement::new(6, 0, 70)
        }
        "cta" | "gpu" | "sys" if matches!(base, "atom" | "red") => Requirement::new(5, 0, 60),
        "bulk" if base == "cp" => Requirement::new(8, 0, 90),
        "cta" if matches!(base, "bar" | "barrier") => Requirement::new(7, 8, 30),
        "cluster" => Requirement::new(7, 8, 90),
        "mmio" => Requirement::new(8, 2, 70),
        "sync" if matches!(base, "shfl" | "vote") => Requirement::new(6, 0, 30),
        "warp" if base == "bar" => Requirement::new(6, 0, 30),
        "b128" => Requirement::new(8, 3, 70),
        "shared::cta" => Requirement::new(7, 8, 30),
        "param::entry" => Requirement::new(8, 3, 30),
        "L2::64B" | "L2::128B" => Requirement::new(7, 4, 75),
        "L2::256B" => Requirement::new(7, 4, 80),
        _ if part.starts_with("L1::") => Requirement::new(7, 4, 70),
        _ if part.starts_with("L2::") => Requirement::new(7, 4, 80),
        "pack" if base == "cvt" => Requirement::new(6, 5, 72),
        "f16x2" | "bf16x2" if base == "cvt" => Requirement::new(7, 0, 80),
        "e4m3x2" | "e5m2x2" => Requirement::new(7, 8, 90),
        "f64" if base == "atom" || base == "red" => Requirement::new(5, 0, 60),
        _ => Requirement::new(1, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_of_all_parts_counts() {
        assert_eq!(required("add.u32"), Requirement::new(1, 0, 0));
        assert_eq!(
            required("ld.relaxed.gpu.global.L2::cache_hint.u32"),
            Requirement::new(7, 4, 80)
        );
        let module = Requirement::of_module("7.8", "sm_90a, debug");
        assert_eq!(module, Requirement::new(7, 8, 90));
        assert!(module.allows(required("redux.sync.add.u32")));
        assert!(!module.allows(required("mov.b128")));
        assert!(!Requirement::of_module("8.3", "sm_60").allows(required("fence.sc.gpu")));
    }
}

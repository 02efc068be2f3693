//! How the in-place kernels order their accesses to memory, read from the PTX that ships, or that is tried in its place.
//!
//! The simulator takes one instruction after the other, and a GPU seldom does otherwise: no such run shows that an
//! order is missing. With weak memory the simulator shows much of it (`weak_memory.rs`), and not all. So this follows every path through the kernels whose threads communicate and looks for what
//! must stand between two accesses. `kernels/src/in_place/strong.rs` and `group.rs` say why it must.

use std::collections::HashSet;
use std::sync::LazyLock;
use transpose_tests::ptx;

static PTX: LazyLock<[String; 2]> = LazyLock::new(|| {
    [
        ptx("in_place", include_str!("../transpose/ptx/in_place.ptx")),
        ptx("in_place_studies", include_str!("../transpose/ptx/in_place_studies.ptx")),
    ]
});

const BLOCK_BARRIER: &str = "bar.sync";
const WARP_BARRIER: &str = "bar.warp.sync";

/// The instructions of an entry, one a line, with labels; without operands of `.param` and directives.
struct Kernel<'p> {
    name: &'p str,
    lines: Vec<&'p str>,
}

/// A kernel for words of every width.
fn kernels(stem: &str) -> Vec<Kernel<'static>> {
    kernels_of(stem, 5)
}

/// A kernel for words of so many widths.
fn kernels_of(stem: &str, widths: usize) -> Vec<Kernel<'static>> {
    let entries = PTX.iter().flat_map(|ptx| ptx.split(".entry ").skip(1)).filter_map(|text| {
        let (name, rest) = text.split_once('(')?;
        let (_, body) = rest.split_once("\n{")?;
        let (body, _) = body.split_once("\n}")?;
        let lines = body.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Some(Kernel { name, lines })
    });
    let width = |name: &str| name.strip_prefix(stem)?.strip_prefix("_b")?.parse::<usize>().ok();
    let found: Vec<_> = entries.filter(|kernel| width(kernel.name).is_some()).collect();
    assert_eq!(found.len(), widths, "{stem}");
    found
}

/// A line without its guard.
fn unguarded(line: &str) -> &str {
    if line.starts_with('@') {
        line.split_once(char::is_whitespace).map_or("", |(_, op)| op.trim())
    } else {
        line
    }
}

impl Kernel<'_> {
    /// The lines that may come after a line.
    fn after(&self, at: usize) -> Vec<usize> {
        let line = self.lines[at];
        let operation = unguarded(line);
        let always = operation == line;
        if operation.starts_with("ret")
            || operation.starts_with("exit")
            || operation.starts_with("trap")
        {
            return if always { Vec::new() } else { vec![at + 1] };
        }
        let Some(branch) = operation.strip_prefix("bra") else { return vec![at + 1] };
        let label = branch.split_whitespace().last().unwrap_or("").trim_end_matches(';');
        let target = self.lines.iter().position(|line| line.strip_suffix(':') == Some(label));
        let target = target.unwrap_or_else(|| panic!("{}: no label {label}", self.name));
        if always { vec![target] } else { vec![at + 1, target] }
    }

    fn lines_of(&self, kind: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.lines.len()).filter(|&at| kind(unguarded(self.lines[at]))).collect()
    }

    /// On no path does a line of the second kind follow one of the first without a barrier between them.
    fn separates(
        &self,
        first: impl Fn(&str) -> bool,
        barrier: &str,
        second: impl Fn(&str) -> bool,
    ) {
        let firsts = self.lines_of(first);
        assert!(!firsts.is_empty() && !self.lines_of(&second).is_empty(), "{}", self.name);
        let mut seen = HashSet::new();
        let mut open: Vec<usize> = firsts.iter().flat_map(|&at| self.after(at)).collect();
        while let Some(at) = open.pop() {
            if at >= self.lines.len() || !seen.insert(at) {
                continue;
            }
            let operation = unguarded(self.lines[at]);
            assert!(!second(operation), "{}: no {barrier} before `{operation}`", self.name);
            if !operation.starts_with(barrier) {
                open.extend(self.after(at));
            }
        }
    }

    /// Every atomic operation releases what was before and acquires what comes after, in this scope.
    fn claims_with(&self, operation: &str) {
        let atomics = self.lines_of(is_atomic);
        assert!(!atomics.is_empty(), "{}", self.name);
        for at in atomics {
            let line = unguarded(self.lines[at]);
            assert!(line.starts_with(operation), "{}: `{line}` is no {operation}", self.name);
        }
    }

    /// Whatever is loaded from or stored to global memory is so by a strong operation.
    fn is_strong(&self) {
        let weak = self.lines_of(|line| is_load(line) || is_store(line));
        let weak = weak.into_iter().find(|&at| !self.lines[at].contains(".relaxed.gpu."));
        assert!(weak.is_none(), "{}: {:?}", self.name, weak.map(|at| self.lines[at]));
    }
}

fn is_atomic(line: &str) -> bool {
    line.starts_with("atom.") || line.starts_with("red.")
}

fn is_load(line: &str) -> bool {
    line.starts_with("ld.") && line.contains(".global") && !line.starts_with("ld.acquire")
}

fn is_store(line: &str) -> bool {
    line.starts_with("st.") && line.contains(".global")
}

/// A thread claims what it has read and stores after it has claimed.
#[test]
fn threads_claim_elements() {
    for kernel in kernels("flags") {
        kernel.is_strong();
        kernel.claims_with("atom.acq_rel.cta.shared.or.b32");
    }
}

/// One lane claims for the others: what they load is loaded before, what they store is stored after.
#[test]
fn warps_claim_chunks() {
    let of_words = ["permute", "permute_short", "permute_shortest", "carry"];
    let of_words = of_words.into_iter().flat_map(kernels);
    for kernel in of_words.chain(kernels_of("permute_bytes", 1)) {
        kernel.is_strong();
        kernel.claims_with("atom.acq_rel.gpu.global.or.b32");
        kernel.separates(is_load, WARP_BARRIER, is_atomic);
        kernel.separates(is_atomic, WARP_BARRIER, is_store);
    }
}

/// The same with the threads of a block.
#[test]
fn blocks_claim_tiles() {
    for kernel in kernels("fused") {
        kernel.is_strong();
        kernel.claims_with("atom.acq_rel.gpu.global.or.b32");
        kernel.separates(is_load, BLOCK_BARRIER, is_atomic);
        kernel.separates(is_atomic, BLOCK_BARRIER, is_store);
    }
}

/// One thread counts for its block and waits for it: what the others load is loaded before, what they store is
/// stored after. Tickets order nothing.
#[test]
fn blocks_wait_for_each_other() {
    for stem in ["panel", "panel_tuples", "columns"] {
        for kernel in kernels(stem) {
            let is_count = |line: &str| is_atomic(line) && !line.starts_with("atom.relaxed");
            let found = [
                "atom.acq_rel.gpu.global.add.u32",
                "atom.relaxed.gpu.global.add.u32",
                "ld.acquire.gpu.global.u32",
            ];
            let found = found.map(|opcode| kernel.lines_of(|line| line.starts_with(opcode)).len());
            // One that lost its order would be taken for one of another kind. Panels of narrow words move in three ways, others in two.
            let is_narrow = kernel.name.ends_with("_b1") || kernel.name.ends_with("_b2");
            let expected = match (stem, is_narrow) {
                ("columns", _) => [1, 2, 1],
                (_, true) => [3, 2, 6],
                (_, false) => [2, 2, 4],
            };
            assert_eq!(found, expected, "{}: counts, tickets, waits", kernel.name);
            assert_eq!(kernel.lines_of(is_count).len(), expected[0], "{}", kernel.name);
            kernel.separates(is_load, BLOCK_BARRIER, is_count);
            kernel.separates(|line| line.starts_with("ld.acquire.gpu"), BLOCK_BARRIER, is_store);
        }
    }
}

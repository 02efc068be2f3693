//! Kernels that try an instruction on many operands, one thread to each, and what the simulator says of them.

use simt::{Error, LaunchConfig, Memory, Module, Options};

use crate::opcodes::{Case, Class};
use crate::operands::{Random, hash};

/// Random operands to a case.
pub const RANDOM: usize = 10_000;
/// Threads of a block; operands are padded to whole blocks.
pub const BLOCK: usize = 256;

/// The head of a module of probes.
pub const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// Names of operands and results in a case's body.
const OPERANDS: [&str; 4] = ["a", "b", "c", "e"];
const RESULTS: [&str; 2] = ["d", "q"];

/// The kernel `name` of a case: operand `k` of thread `i` is the 64-bit word `k · threads + i` of its first argument, result `k` goes
/// to the word at that place of its second.
pub fn kernel(case: &Case, name: &str) -> String {
    let mut body = case.body.clone();
    let mut load = String::new();
    for (at, ((class, _), letter)) in case.operands.iter().zip(OPERANDS).enumerate() {
        body = body.replace(&format!("{{{letter}}}"), &register(letter, *class));
        if at > 0 {
            load += "add.u64 %from, %from, %all;\n";
        }
        load += "ld.global.u64 %t64, [%from];\n";
        load += &narrow(letter, *class);
    }
    let mut store = String::new();
    for (at, (class, letter)) in case.results.iter().zip(RESULTS).enumerate() {
        body = body.replace(&format!("{{{letter}}}"), &register(letter, *class));
        if at > 0 {
            store += "add.u64 %to, %to, %all;\n";
        }
        store += &widen(letter, *class);
        store += "st.global.u64 [%to], %t64;\n";
    }
    let body = body.replace("{o}", "%to");
    let names = OPERANDS.iter().chain(&RESULTS).map(|letter| {
        format!(".reg .pred %{letter}p; .reg .b16 %{letter}h; .reg .b32 %{letter}w; .reg .b64 %{letter}x;\n")
    });
    let names: String = names.collect();
    format!(
        ".visible .entry {name}(.param .u64 operands, .param .u64 results)\n{{\n\
         {names}.reg .b32 %t, %i, %n, %own; .reg .b64 %t64, %from, %to, %all, %at; .reg .b128 %t128;\n\
         .shared .align 16 .b8 place[{}];\n\
         ld.param.u64 %from, [operands];\nld.param.u64 %to, [results];\n\
         mov.u32 %i, %tid.x;\nmov.u32 %own, place;\nmad.lo.u32 %own, %i, 16, %own;\n\
         mov.u32 %t, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %i, %t, %n, %i;\n\
         mov.u32 %t, %nctaid.x;\nmul.lo.u32 %n, %n, %t;\n\
         mul.wide.u32 %at, %i, 8;\nmul.wide.u32 %all, %n, 8;\n\
         add.u64 %from, %from, %at;\nadd.u64 %to, %to, %at;\n\
         {load}{body}\n{store}ret;\n}}\n",
        16 * BLOCK
    )
}

fn register(letter: &str, class: Class) -> String {
    let suffix = match class {
        Class::Predicate => 'p',
        Class::Half => 'h',
        Class::Word => 'w',
        Class::Double => 'x',
    };
    format!("%{letter}{suffix}")
}

/// From `%t64` into an operand.
fn narrow(letter: &str, class: Class) -> String {
    let to = register(letter, class);
    match class {
        Class::Predicate => format!("setp.ne.u64 {to}, %t64, 0;\n"),
        Class::Half => format!("cvt.u16.u64 {to}, %t64;\n"),
        Class::Word => format!("cvt.u32.u64 {to}, %t64;\n"),
        Class::Double => format!("mov.u64 {to}, %t64;\n"),
    }
}

/// From a result into `%t64`.
fn widen(letter: &str, class: Class) -> String {
    let from = register(letter, class);
    match class {
        Class::Predicate => format!("selp.u64 %t64, 1, 0, {from};\n"),
        Class::Half => format!("cvt.u64.u16 %t64, {from};\n"),
        Class::Word => format!("cvt.u64.u32 %t64, {from};\n"),
        Class::Double => format!("mov.u64 %t64, {from};\n"),
    }
}

/// What a case is tried on: all combinations of edges, then random operands, then zeros up to whole blocks.
#[derive(Clone, Debug)]
pub struct Operands {
    /// How many combinations of edges there are.
    pub edges: usize,
    /// Threads.
    pub threads: usize,
    /// The words, operand after operand.
    pub words: Vec<u64>,
}

impl Operands {
    /// The operands of a case.
    pub fn new(case: &Case, seed: u64) -> Operands {
        // So many edges of each operand that their combinations stay few.
        let most = [usize::MAX, 40, 13, 7][case.operands.len() - 1];
        let edges: Vec<Vec<u64>> = case
            .operands
            .iter()
            .map(|(_, values)| values.edges().into_iter().take(most).collect())
            .collect();
        let count: usize = edges.iter().map(Vec::len).product();
        let threads = (count + RANDOM).next_multiple_of(BLOCK);
        let mut words = vec![0; threads * edges.len()];
        for at in 0..count {
            let mut rest = at;
            for (k, edges) in edges.iter().enumerate() {
                words[k * threads + at] = edges[rest % edges.len()];
                rest /= edges.len();
            }
        }
        let mut random = Random::new(seed, &case.body);
        for at in count..count + RANDOM {
            for (k, (_, values)) in case.operands.iter().enumerate() {
                words[k * threads + at] = values.random(&mut random);
            }
        }
        Operands { edges: count, threads, words }
    }

    /// The operands of one thread.
    pub fn of(&self, thread: usize) -> Vec<u64> {
        self.words.iter().skip(thread).step_by(self.threads).copied().collect()
    }

    /// A hash of the results for random operands; `results` are as the kernel leaves them.
    pub fn hash(&self, results: &[u64]) -> u64 {
        let random =
            |column: &[u64]| column[self.edges..self.edges + RANDOM].iter().copied().fold(0, hash);
        results.chunks_exact(self.threads).map(random).fold(0, hash)
    }
}

/// Whether the simulator has the instruction.
pub fn is_simulated(case: &Case) -> bool {
    let module = Module::parse(&format!("{HEAD}{}", kernel(case, "probe")));
    module.is_ok_and(|module| module.kernel("probe").is_ok())
}

/// The results of a case on the simulator.
///
/// # Errors
/// What the simulator refuses.
pub fn simulate(case: &Case, operands: &Operands) -> Result<Vec<u64>, Error> {
    let module = Module::parse(&format!("{HEAD}{}", kernel(case, "probe")))?;
    let bytes =
        |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let results = operands.threads * case.results.len();
    let memory = Memory::new(1 << 30);
    let from = memory.alloc(8 * operands.words.len() as u64)?;
    let to = memory.alloc(8 * results as u64)?;
    memory.write(from, &bytes(&operands.words))?;
    let grid = [(operands.threads / BLOCK) as u32, 1, 1];
    let config = LaunchConfig { grid, block: [BLOCK as u32, 1, 1], dynamic_shared_bytes: 0 };
    let arguments: [&[u8]; 2] = [&from.to_le_bytes(), &to.to_le_bytes()];
    module.kernel("probe")?.launch(&memory, &config, &arguments, &Options::default())?;
    let mut out = vec![0; 8 * results];
    memory.read(to, &mut out)?;
    Ok(out.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

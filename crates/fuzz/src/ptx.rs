//! PTX: the kernels that ship with something broken, and kernels of words that PTX has, in any order. What is still a kernel runs.

use bolero::TypeGenerator;
use bolero::generator::*;
use simt::{Checks, CounterOptions, LaunchConfig, Memory, Module, Options, TraceOptions};
use std::sync::LazyLock;

/// A text that may be PTX.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Text {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// One of the kernels that ship, damaged.
    Damaged(u16, #[generator(produce::<Vec<_>>().with().len(1usize..5))] Vec<Damage>),
    /// Instructions that kernels have, in any order.
    Instructions(#[generator(produce::<Vec<_>>().with().len(1usize..40))] Vec<Instruction>),
}

/// An instruction of some kernel, with its registers put among a few, and perhaps an operand in place of another.
#[derive(Clone, Copy, Debug, TypeGenerator)]
pub struct Instruction {
    like: u16,
    registers: u8,
    /// Which operand another takes the place of: none, unless the number is high, for a kernel has many instructions.
    which: u8,
    other: u8,
    guarded: bool,
}

/// What can happen to a text.
#[derive(Clone, Copy, Debug, TypeGenerator)]
pub enum Damage {
    /// A byte goes.
    Delete(u32),
    /// A byte is another.
    Replace(u32, u8),
    /// A word takes the place of another.
    Word(u32, u32),
    /// Two lines change places.
    SwapLines(u32, u32),
    /// A line is there twice.
    Repeat(u32, u32),
    /// The rest is missing.
    Truncate(u32),
}

const FIXTURE: &str = include_str!("../../simt/tests/fixtures/rustc.ptx");

/// Every kernel there is, each as a module of its own.
static KERNELS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let images = transpose::raw::images().map(|image| image.ptx().into_owned());
    let texts = images.chain([FIXTURE.to_owned()]);
    texts.flat_map(|text| apart(&text)).collect()
});

const ENTRY: &str = ".visible .entry";

fn apart(text: &str) -> Vec<String> {
    let mut parts = text.split(ENTRY);
    let header = parts.next().unwrap_or_default().to_owned();
    parts.map(|kernel| format!("{header}{ENTRY}{kernel}")).collect()
}

/// Every instruction that those kernels have, and some that they have not: what is before the opcode is left out.
static INSTRUCTIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of_line = |line: &str| {
        let line = line.trim().trim_end_matches(';');
        let line = if line.starts_with('@') { line.split_once(' ')?.1.trim() } else { line };
        line.starts_with(|c: char| c.is_ascii_lowercase()).then(|| normalised(line))
    };
    let lines = KERNELS.iter().flat_map(|text| text.lines());
    let mut instructions: Vec<String> = lines.filter_map(of_line).collect();
    instructions.extend(RARE.map(str::to_owned));
    instructions.sort_unstable();
    instructions.dedup();
    instructions
});

/// The instruction with the digits behind its registers gone, and all labels and parameters called alike.
fn normalised(line: &str) -> String {
    let (opcode, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let mut words = String::new();
    let mut rest = operands;
    let starts = |c: char| c == '%' || c == '$' || c.is_ascii_alphanumeric();
    while let Some(at) = rest.find(starts) {
        let end = rest[at..].find(|c: char| !(c.is_ascii_alphanumeric() || "_$%.".contains(c)));
        let word = &rest[at..end.map_or(rest.len(), |end| at + end)];
        words += &rest[..at];
        words += match word {
            number if number.starts_with(|c: char| c.is_ascii_digit()) => number,
            special if special.contains('.') || special.starts_with("%lane") => special,
            register if register.starts_with('%') => {
                register.trim_end_matches(|c: char| c.is_ascii_digit())
            }
            label if label.starts_with('$') => "l",
            _ => "a",
        };
        rest = &rest[at + word.len()..];
    }
    format!("{opcode} {words}{rest}")
}

const RARE: [&str; 34] = [
    "brx.idx %r, t",
    "bra.uni l",
    "trap",
    "exit",
    "bar.sync 0",
    "bar.arrive 1, 64",
    "barrier.sync %r",
    "bar.red.popc.u32 %r, 0, %p",
    "bar.warp.sync %r",
    "shfl.sync.bfly.b32 %r|%p, %r, 1, 31, -1",
    "shfl.sync.idx.b32 %r, %r, %r, 31, -1",
    "vote.sync.ballot.b32 %r, %p, -1",
    "vote.sync.any.pred %p, %p, %r",
    "match.any.sync.b64 %r, %rd, -1",
    "redux.sync.add.u32 %r, %r, -1",
    "activemask.b32 %r",
    "atom.global.add.u64 %rd, [%rd], %rd",
    "atom.shared.cas.b32 %r, [s], %r, %r",
    "red.global.max.u32 [%rd], %r",
    "fence.acq_rel.gpu",
    "ld.acquire.gpu.global.u32 %r, [%rd]",
    "st.release.gpu.global.u32 [%rd], %r",
    "ld.global.v4.b32 {%r, %r, %r, %r}, [%rd]",
    "st.shared.v2.b64 [s+16], {%rd, %rd}",
    "div.s64 %rd, %rd, %rd",
    "rem.u32 %r, %r, %r",
    "cvt.rni.s64.f64 %rd, %fd",
    "fma.rn.f32 %f, %f, %f, %f",
    "sqrt.rn.f64 %fd, %fd",
    "prmt.b32 %r, %r, %r, %r",
    "bfe.s64 %rd, %rd, %r, %r",
    "lop3.b32 %r, %r, %r, %r, 0x96",
    "shf.l.wrap.b32 %r, %r, %r, %r",
    "mad.wide.u32 %rd, %tid.x, 4, %rd",
];

const OPERANDS: [&str; 40] = [
    "%r0",
    "%r1",
    "%r2",
    "%r3",
    "%rd0",
    "%rd1",
    "%rd2",
    "%p0",
    "%p1",
    "!%p1",
    "%p0|%p1",
    "%rs0",
    "%rs1",
    "%f0",
    "%fd0",
    "%q0",
    "0",
    "1",
    "-1",
    "31",
    "32",
    "4294967295",
    "0x8000000000000000",
    "0f7F800001",
    "0d7FF8000000000001",
    "[%rd0]",
    "[%rd1+8]",
    "[%rd1-1]",
    "[s]",
    "[s+4]",
    "s",
    "[a]",
    "[b]",
    "{%r0, %r1}",
    "{%r0, %r1, %r2, %r3}",
    "{%rd0, %rd1}",
    "%tid.x",
    "%laneid",
    "t",
    "l0",
];

impl Text {
    fn text(&self) -> String {
        match self {
            Text::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Text::Damaged(which, damages) => {
                let kernel = KERNELS[usize::from(*which) % KERNELS.len()].clone();
                damages.iter().fold(kernel, apply)
            }
            Text::Instructions(instructions) => {
                let body: String = instructions.iter().enumerate().map(statement).collect();
                format!(
                    ".version 7.8\n.target sm_70\n.address_size 64\n{ENTRY} k(.param .u64 a, .param .u64 b) {{\n\
                     .reg .b16 %rs<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<3>; .reg .f32 %f<3>; .reg .f64 %fd<3>;\n\
                     .reg .b128 %rq<3>; .shared .align 16 .b8 s[256]; t: .branchtargets l0, l1, l2;\n\
                     ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; mov.u64 %rd2, %rd0;\n{body}ret;\n}}\n"
                )
            }
        }
    }
}

/// A line of a kernel. The first three have the labels: jumps go back, and loops need not end.
fn statement((line, instruction): (usize, &Instruction)) -> String {
    let like = &INSTRUCTIONS[usize::from(instruction.like) % INSTRUCTIONS.len()];
    let (opcode, operands) = like.split_once(' ').unwrap_or((like, ""));
    let mut salt = usize::from(instruction.registers);
    let mut numbered = |operand: &str| {
        let mut text = String::new();
        for piece in operand.split_inclusive(|c: char| {
            !(c.is_ascii_alphanumeric() || c == '%' || c == '.' || c == '_')
        }) {
            let word = piece.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '%'));
            text += word;
            if ["%r", "%rd", "%rs", "%p", "%f", "%fd", "%rq", "l"].contains(&word) {
                text += ["0", "1", "2"][salt % 3];
                salt /= 3;
            }
            text += &piece[word.len()..];
        }
        text
    };
    let mut operands: Vec<String> = operands.split(", ").map(&mut numbered).collect();
    if instruction.which >= 250 {
        let count = operands.len();
        operands[usize::from(instruction.which) % count] =
            OPERANDS[usize::from(instruction.other) % OPERANDS.len()].to_owned();
    }
    let label = if line < 3 { format!("l{line}: ") } else { String::new() };
    let guard = if instruction.guarded { "@%p0 " } else { "" };
    format!("{label}{guard}{opcode} {};\n", operands.join(", "))
}

fn apply(text: String, damage: &Damage) -> String {
    // Words and lines are cut at spaces and ends of lines; bytes are of ASCII, as the kernels are.
    let place = |at: u32, count: usize| at as usize % count.max(1);
    match *damage {
        _ if text.is_empty() || !text.is_ascii() => text,
        Damage::Delete(at) => {
            let at = place(at, text.len());
            format!("{}{}", &text[..at], &text[at + 1..])
        }
        Damage::Replace(at, byte) => {
            let (at, byte) = (place(at, text.len()), char::from(byte % 128));
            format!("{}{byte}{}", &text[..at], &text[at + 1..])
        }
        Damage::Truncate(at) => text[..place(at, text.len())].to_owned(),
        Damage::Word(at, from) => {
            let mut words: Vec<&str> = text.split(' ').collect();
            let count = words.len();
            words[place(at, count)] = words[place(from, count)];
            words.join(" ")
        }
        Damage::SwapLines(..) | Damage::Repeat(..) => lines(&text, *damage),
    }
}

fn lines(text: &str, damage: Damage) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let count = lines.len();
    match damage {
        Damage::SwapLines(a, b) => lines.swap(a as usize % count, b as usize % count),
        Damage::Repeat(from, to) => lines.insert(to as usize % count, lines[from as usize % count]),
        _ => {}
    }
    lines.join("\n")
}

/// Parses the text, and runs every kernel that it has, with everything switched on.
pub fn run(text: &Text) {
    let Ok(module) = Module::parse(&text.text()) else { return };
    let options = Options::default()
        .checks(Checks::ALL)
        .counters(CounterOptions::default())
        .trace(TraceOptions { block: [0; 3], limit: 100 })
        .instruction_limit(1 << 13)
        .findings_limit(4);
    for kernel in module.kernels() {
        let memory = Memory::new(1 << 20).tracking_initialised();
        let buffers = [(); 2].map(|()| memory.alloc(4096).expect("there is as much"));
        let arguments: Vec<Vec<u8>> = kernel
            .params()
            .iter()
            .enumerate()
            .map(|(at, param)| match param.size {
                8 => buffers[at % 2].to_le_bytes().to_vec(),
                size => vec![at as u8; size],
            })
            .collect();
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let block = kernel.required_block().unwrap_or([40, 2, 1]);
        let config = LaunchConfig { grid: [2, 2, 1], block, dynamic_shared_bytes: 1024 };
        let _ = kernel.launch(&memory, &config, &arguments, &options);
    }
}

//! PTX that was damaged, and arguments that make no sense: an error or a result,
//! never a panic, and never for long.

mod common;

use common::Device;
use proptest::prelude::*;
use simt::{
    Checks, CounterOptions, LaunchConfig, Memory, Module, Options, PartitionModel, TraceOptions,
};

const KERNELS: &str = include_str!("fixtures/rustc.ptx");

/// What can happen to a text.
#[derive(Clone, Debug)]
enum Damage {
    Delete(usize),
    Replace(usize, u8),
    /// A word of the text put in another's place.
    Word(usize, usize),
    SwapLines(usize, usize),
    Truncate(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = || any::<usize>();
    let letter = prop::sample::select(b"0123456789.,;:{}[]()@!%$_+-<>=|\"/* \nrdpabs".to_vec());
    prop_oneof![
        2 => place().prop_map(Damage::Delete),
        3 => (place(), letter).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        6 => (place(), place()).prop_map(|(at, from)| Damage::Word(at, from)),
        3 => (place(), place()).prop_map(|(a, b)| Damage::SwapLines(a, b)),
        1 => place().prop_map(Damage::Truncate),
    ]
}

fn apply(text: String, damage: &Damage) -> String {
    let mut bytes = text.clone().into_bytes();
    let length = bytes.len().max(1);
    match *damage {
        _ if bytes.is_empty() => return text,
        Damage::Delete(at) => drop(bytes.remove(at % length)),
        Damage::Replace(at, byte) => bytes[at % length] = byte,
        Damage::Truncate(at) => bytes.truncate(at % length),
        Damage::Word(at, from) => {
            let mut words: Vec<&str> = text.split(' ').collect();
            let count = words.len();
            words[at % count] = words[from % count];
            return words.join(" ");
        }
        Damage::SwapLines(a, b) => {
            let mut lines: Vec<&str> = text.split('\n').collect();
            let count = lines.len();
            lines.swap(a % count, b % count);
            return lines.join("\n");
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Runs every kernel that still decodes, with everything switched on.
fn run_all(module: &Module) {
    let options = Options::default()
        .checks(Checks::ALL)
        .counters(CounterOptions::default().partitions(PartitionModel::GTX_280))
        .trace(TraceOptions { block: [0; 3], limit: 100 })
        .instruction_limit(1 << 12)
        .findings_limit(4);
    let device = Device { memory: Memory::new(1 << 20).tracking_initialised(), options };
    let buffers = [device.upload(&[7u64; 64]), device.upload(&[9u64; 64])];
    for kernel in module.kernels() {
        let shape = [5u64, 6, 6, 5, 1, 1].map(u64::to_le_bytes).concat();
        let arguments: Vec<Vec<u8>> = kernel
            .params()
            .iter()
            .enumerate()
            .map(|(at, param)| match (param.size, at) {
                (8, 0 | 1) => buffers[at].to_le_bytes().to_vec(),
                (size, _) => shape.iter().copied().cycle().take(size).collect(),
            })
            .collect();
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let config = LaunchConfig { grid: [2, 1, 1], block: [20, 3, 1], dynamic_shared_bytes: 64 };
        let _ = kernel.launch(&device.memory, &config, &arguments, &device.options);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn damaged_kernels_do_not_panic(damages in prop::collection::vec(damage(), 1..8)) {
        let text = damages.iter().fold(KERNELS.to_owned(), apply);
        if let Ok(module) = Module::parse(&text) {
            run_all(&module);
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,200}", tail in "[ -~\\n]{0,300}") {
        let _ = Module::parse(&text);
        let _ = Module::parse(&format!(".version 7.0 .target sm_70 .visible .entry k() {{ {tail} }}"));
    }
}

#[test]
fn the_undamaged_kernels_run() {
    run_all(&Module::parse(KERNELS).unwrap());
}

#[test]
fn deep_nesting_and_great_sizes_are_refused() {
    let kernel = |body: &str| format!(".visible .entry k() {{ {body} }}");
    for body in [
        "{".repeat(100_000) + &"}".repeat(100_000),
        format!("mov.b64 {}1{}, %d1;", "{".repeat(100_000), "}".repeat(100_000)),
        ".reg .b32 %r<4294967295>; mov.u32 %r4294967295, 0;".to_owned(),
        (0..70_000).fold(".reg .b32 %r<70000>;".to_owned(), |all, at| {
            all + &format!("mov.u32 %r{at}, 0;")
        }),
        "bra 5;".to_owned(),
        "st.global.u32 [99999999999999999999], 0;".to_owned(),
    ] {
        let refused = Module::parse(&kernel(&body)).map(|module| module.kernels().count());
        assert!(matches!(refused, Err(_) | Ok(0)), "{}", &body[..60.min(body.len())]);
    }
    let params = ".visible .entry k(.param .align 8 .b8 a[4294967295], .param .align 2147483648 .b8 b[9]) { ret; }";
    assert_eq!(Module::parse(params).unwrap().kernels().count(), 0);
}

/// A kernel of `lines` lines, each made from its number, between declarations and `end`.
fn long_kernel(lines: usize, start: &str, line: impl Fn(usize) -> String, end: &str) -> String {
    let body: String = (0..lines).map(|at| line(at) + "\n").collect();
    format!(".visible .entry k() {{ {start}\n{body}{end} }}")
}

/// Texts of a few megabytes, each made so that something in them is many times as many as there are lines. Reading them took
/// time in the third power, or memory in the second.
#[test]
fn long_texts_take_as_long_as_they_are() {
    const LINES: usize = 60_000;
    let parse = |text: &str| Module::parse(text).unwrap().refused().map(|(_, e)| e.clone()).next();
    let kernels = [
        // Every register is live everywhere.
        long_kernel(
            LINES,
            &format!(".reg .b32 %r<{LINES}>; .reg .pred %p; l0:"),
            |at| format!("add.u32 %r{at}, %r{at}, %r{}; @%p bra l0;", (at + 1) % LINES),
            "",
        ),
        // All meet at the end, far from where they part.
        long_kernel(
            LINES,
            ".reg .pred %p;",
            |at| if at % 2 == 0 { "@%p bra near;".into() } else { "@!%p bra far;".into() },
            &format!("bra.uni far; near:{} far: ret;", "add.u32 %r, %r, 1;".repeat(LINES)),
        )
        .replacen("{ ", "{ .reg .b32 %r; ", 1),
        // Many branches through one long table.
        long_kernel(
            LINES,
            ".reg .b32 %r; t: .branchtargets ",
            |at| if at + 1 < LINES { format!("l{at},") } else { format!("l{at};") },
            &(0..LINES).map(|at| format!("brx.idx %r, t; l{at}:")).collect::<String>(),
        ),
        // Many names in one scope, and none of them the one that is meant.
        long_kernel(
            LINES,
            "",
            |at| format!(".reg .b32 %a{at};"),
            &"mov.u32 %a0, %tid.x;".repeat(LINES),
        ),
    ];
    for kernel in &kernels {
        assert_eq!(parse(kernel), None, "{}", &kernel[..80]);
    }
    let variables: String = (0..LINES).map(|at| format!(".shared .b32 s{at};\n")).collect();
    let many: String =
        (0..LINES).map(|at| format!(".visible .entry k{at}() {{ ret; }}\n")).collect();
    assert_eq!(parse(&(variables + &many)), None);
    // Read by the test below.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("peak: {}", peak.unwrap_or_default().trim().trim_end_matches("kB").trim());
}

/// The same texts, in a process of their own: what they took was gigabytes.
#[test]
#[cfg(target_os = "linux")]
fn long_texts_take_no_more_memory_than_they_are_worth() {
    let this = std::env::current_exe().unwrap();
    let arguments = ["--exact", "long_texts_take_as_long_as_they_are", "--nocapture"];
    let output = std::process::Command::new(this).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let peak = said.split_once("peak: ").unwrap().1.lines().next().unwrap();
    let kilobytes: u64 = peak.parse().unwrap();
    assert!(kilobytes < 512 << 10, "{kilobytes} kB for texts of up to 4 MB");
}

/// Blocks without number, each of which ends at once.
#[test]
fn the_instruction_limit_is_for_the_whole_grid() {
    let ptx = ".visible .entry k() { .shared .b8 s[40000]; .reg .b32 %r; mov.u32 %r, s; ret; }";
    let module = Module::parse(ptx).unwrap();
    let kernel = module.kernel("k").unwrap();
    // With memory in one order, and weak.
    for options in [Options::default(), Options::default().weak_memory(1)] {
        let launch = |grid, limit| {
            let config = LaunchConfig { grid, block: [32, 1, 1], dynamic_shared_bytes: 0 };
            let options = options.clone().instruction_limit(limit);
            kernel.launch(&Memory::new(1 << 20), &config, &[], &options)
        };
        // Two instructions a block, and what its shared memory costs.
        let block = 2 + 40_000 / 128;
        assert!(launch([1, 1, 1], block).is_ok());
        assert!(launch([1, 1, 1], block - 1).is_err());
        let error = launch([0x7fff_ffff, 65535, 65535], 1 << 24).unwrap_err();
        assert!(error.to_string().contains("instructions"), "{error}");
    }
}

/// Lanes that never end, in a branch that others have left for the end of the kernel: the first path is a parent that goes on behind the last instruction.
#[test]
fn the_instruction_limit_is_reached_beside_a_parent_that_ends() {
    let ptx = ".visible .entry k() {
        .reg .b32 %r; .reg .pred %a, %b, %c;
        mov.u32 %r, %laneid; setp.lt.u32 %a, %r, 16; setp.lt.u32 %b, %r, 8; setp.lt.u32 %c, %r, 4;
        @%a bra T;
        ret;
    T:  bar.warp.sync 0xffffffff;
        @%b bra L;
        ret;
    L:  @%c bra M;
        bra L;
    M:  bra L;
    }";
    let module = Module::parse(ptx).unwrap();
    let options = Options::default().instruction_limit(1000);
    let config = LaunchConfig { grid: [1; 3], block: [32, 1, 1], dynamic_shared_bytes: 0 };
    let kernel = module.kernel("k").unwrap();
    let error = kernel.launch(&Memory::new(1 << 20), &config, &[], &options).unwrap_err();
    assert!(error.to_string().contains("instructions"), "{error}");
}

/// Dynamic shared memory that starts gigabytes behind what is static.
#[test]
fn alignment_is_no_way_around_the_limit_of_shared_memory() {
    let ptx = ".extern .shared .align 2147483648 .b8 d[];
        .visible .entry k() { .shared .b8 a[4]; .reg .b32 %r; mov.u32 %r, a; mov.u32 %r, d; ret; }";
    let module = Module::parse(ptx).unwrap();
    let config = LaunchConfig { grid: [1; 3], block: [32, 1, 1], dynamic_shared_bytes: 64 };
    let kernel = module.kernel("k").unwrap();
    let error =
        kernel.launch(&Memory::new(1 << 20), &config, &[], &Options::default()).unwrap_err();
    assert!(matches!(error, simt::Error::SharedMemory { given: 0x8000_0040, .. }), "{error}");
}

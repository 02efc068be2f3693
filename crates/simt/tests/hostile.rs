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

//! Builds the kernels in `tests/kernels` and reads the PTX.
//!
//! Runs where a compiler for the GPU is found, and says why not elsewhere. The first
//! run compiles `core` twice: once for each set of options.

use cuda_builder::ptx::Forbidden;
use cuda_builder::{BuildReport, CudaBuilder, CudaBuilderError, DebugInfo, NvvmArch, Toolchain};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the fixture has, in the order in which rustc writes it, apart from `checked`.
const KERNELS: [&str; 7] =
    ["dynamic", "floats", "intrinsics", "one_array", "reverse", "table", "two_arrays"];

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

/// Where this test may write. Kept between runs, so that only the first is slow.
fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// The compiler; if there is none, says what is missing.
fn compiler() -> Option<Toolchain> {
    Toolchain::find(&fixture())
        .inspect(|toolchain| println!("with {toolchain}"))
        .inspect_err(|error| println!("skipped: {error}"))
        .ok()
}

/// The PTX of the fixture with the options that the tests share.
fn shared_build() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| build(&fixture(), |builder| builder).1)
}

/// The options that the tests below share.
fn builder(path: &Path) -> CudaBuilder {
    CudaBuilder::new(path)
        .target_dir(scratch().join("target"))
        .arch(NvvmArch::Compute70)
        .ptx_version(6, 3)
        .build_args(&["--features=panics"])
}

/// Builds a crate with those options and some more.
fn build(path: &Path, options: impl Fn(CudaBuilder) -> CudaBuilder) -> (BuildReport, String) {
    let mut builder = builder(path);
    if compiler().is_some_and(|toolchain| !toolchain.builds_core) {
        builder.build_args.clear();
    }
    let report = options(builder).build_report().unwrap_or_else(|error| panic!("{error}"));
    let ptx = fs::read_to_string(&report.ptx).expect("the PTX can be read");
    (report, ptx)
}

/// The text of one kernel.
fn body<'a>(ptx: &'a str, kernel: &str) -> &'a str {
    let from = ptx.find(&format!(".entry {kernel}(")).expect("the kernel is there");
    let len = ptx[from..].find("\n}").expect("the kernel ends");
    &ptx[from..from + len]
}

/// The static shared arrays that one kernel mentions.
fn arrays<'a>(ptx: &'a str, kernel: &str) -> BTreeSet<&'a str> {
    body(ptx, kernel)
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("shared_"))
        .collect()
}

#[test]
fn builds_what_the_options_say() {
    if compiler().is_none() {
        return;
    }
    let copy = scratch().join("new folder/kernels.ptx");
    let (report, ptx) = build(&fixture(), |builder| builder.copy_to(&copy));
    assert_eq!(report.ptx, copy);
    let entries = report.entries.iter().filter(|name| *name != "checked");
    assert!(entries.eq(KERNELS), "{:?}", report.entries);
    assert!(ptx.contains(".version 6.3\n.target sm_70\n"), "{ptx}");
    assert!(body(&ptx, "floats").contains("fma.rn.f32"));
    assert!(body(&ptx, "floats").contains("div.rn.f32"));

    // Another set of options, and then the first again: neither sees the other's PTX.
    let (report, other) = build(&fixture(), |builder| {
        let builder = builder.arch(NvvmArch::Compute90).ptx_version(8, 0);
        let builder = builder.fma_contraction(false).fast_div(true);
        builder.debug(DebugInfo::LineTables).emit_llvm_ir(true)
    });
    assert!(other.contains(".version 8.0\n.target sm_90\n"), "{other}");
    assert!(!body(&other, "floats").contains("fma"));
    assert!(body(&other, "floats").contains("div.full.f32"));
    assert!(body(&other, "floats").contains("\t.loc\t"));
    assert!(other.contains("/src/lib.rs\""), "{other}");
    assert!(!other.contains(env!("CARGO_MANIFEST_DIR")), "{other}");
    let ir = fs::read_to_string(report.ir.expect("it was asked for")).expect("it can be read");
    assert!(ir.contains("define ptx_kernel void @floats"));

    assert_eq!(shared_build(), ptx);
}

#[test]
fn the_folder_does_not_show() {
    if compiler().is_none() {
        return;
    }
    let elsewhere = scratch().join("elsewhere");
    // The PTX is named after the folder, and both are built in one.
    let moved = elsewhere.join("crates/cuda_builder/tests/moved");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["crates/cuda_std", "crates/cuda_std_macros"] {
        copy_sources(&workspace.join(folder), &elsewhere.join(folder));
    }
    copy_sources(&fixture(), &moved);
    let here = shared_build();
    let (_, there) = build(&moved, |builder| builder);
    assert_eq!(here, there);
    assert!(!here.contains(env!("CARGO_MANIFEST_DIR")));
    assert!(!here.contains(".rs"));
}

#[test]
fn a_place_in_the_source_is_an_array() {
    if compiler().is_none() {
        return;
    }
    let ptx = shared_build();
    assert_eq!(arrays(ptx, "reverse").len(), 1);
    assert_eq!(arrays(ptx, "two_arrays").len(), 2);
    assert_eq!(arrays(ptx, "dynamic").len(), 0);

    // Inlined in three branches and unrolled, still one.
    assert_eq!(arrays(ptx, "one_array").len(), 1);

    for bytes in [256, 128, 384] {
        let tail = format!("[{bytes}];\n");
        let declared = ptx.lines().any(|line| {
            line.starts_with(".shared .align 16 .b8 shared_") && line.ends_with(tail.trim())
        });
        assert!(declared, "{bytes}: {ptx}");
    }
}

#[test]
fn a_barrier_stays_one() {
    if compiler().is_none() {
        return;
    }
    let ptx = shared_build();
    for (kernel, barriers) in [("reverse", 1), ("dynamic", 1), ("two_arrays", 2)] {
        let found = body(ptx, kernel).matches("bar.sync").count();
        assert_eq!(found, barriers, "{}", body(ptx, kernel));
    }
}

#[test]
fn a_panic_is_a_trap_or_refused() {
    let Some(toolchain) = compiler() else {
        return;
    };
    if toolchain.builds_core {
        assert!(body(shared_build(), "checked").contains("trap;"));
        return;
    }
    match builder(&fixture()).build() {
        Err(CudaBuilderError::ForbiddenPtx { findings, .. }) => {
            assert_eq!(findings[0].what, Forbidden::Call);
            assert_eq!(findings[0].function.as_deref(), Some("checked"));
        }
        other => panic!("{other:?}"),
    }
}

/// Copies a folder without what was built in it.
fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the scratch folder can be written");
    for entry in fs::read_dir(from).expect("the sources can be listed") {
        let entry = entry.expect("the sources can be listed");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            if entry.file_name() != "target" {
                copy_sources(&path, &target);
            }
        } else if fs::read(&path).ok() != fs::read(&target).ok() {
            // Only what changed, so that cargo sees an unchanged copy as fresh.
            fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

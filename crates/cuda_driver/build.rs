//! Tells the crate whether its target has a CUDA driver, and the linker of a program that uses
//! `cust` where libcuda is.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");

    // The targets for which NVIDIA has a driver and `src/trampolines/jumps.rs` has the code.
    let os = var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let arch = var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    println!("cargo::rustc-check-cfg=cfg(driver_target)");
    if let ("linux", "x86_64" | "aarch64") | ("windows", "x86_64") = (&*os, &*arch) {
        println!("cargo::rustc-cfg=driver_target");
    }

    // cust links with -lcuda wherever it found a CUDA folder, and some of those hold no
    // libcuda (a toolkit's runtime half, say). The empty archive here always meets it.
    if var("CARGO_FEATURE_TRAMPOLINES").is_ok() {
        let root = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-search=native={root}/link/lib64");
    }
}

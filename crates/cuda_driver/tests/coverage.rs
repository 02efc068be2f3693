//! The crate defines what cust_raw declares, no less and no more.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

#[allow(unused_imports)]
#[path = "../src/trampolines/symbols.rs"]
mod symbols;
use symbols::for_each_symbol;

/// Each name of the table with the address that a call through cust_raw goes to. That this
/// links is half of the test.
fn addresses() -> Vec<(&'static str, usize)> {
    macro_rules! list {
        ($($name:ident)*) => {
            vec![$((stringify!($name), cust::sys::$name as *const () as usize)),*]
        };
    }
    for_each_symbol!(list)
}

#[test]
fn the_table_is_what_cust_raw_declares() {
    let source = cust_raw_source();
    assert!(!source.contains("link_name"), "an exported name may differ from the declared");
    let declared: BTreeSet<&str> = source
        .split("pub fn ")
        .skip(1)
        .map(|rest| rest.split('(').next().unwrap().trim())
        .filter(|name| name.starts_with("cu"))
        .collect();
    let table: Vec<&str> = addresses().iter().map(|&(name, _)| name).collect();

    assert!(declared.len() > 300, "the source was not understood: {declared:?}");
    assert!(table.is_sorted());
    assert_eq!(declared, table.iter().copied().collect());
    assert_eq!(declared.len(), table.len(), "a name is listed twice");
}

/// The declarations, as cargo fetched them.
fn cust_raw_source() -> String {
    let output =
        Command::new(env!("CARGO")).args(["metadata", "--format-version=1"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "cust_raw")
        .unwrap();
    let manifest = std::path::Path::new(package["manifest_path"].as_str().unwrap());
    std::fs::read_to_string(manifest.with_file_name("src/cuda.rs")).unwrap()
}

#[test]
fn every_symbol_has_an_address_of_its_own() {
    let mut owner = BTreeMap::new();
    for (name, address) in addresses() {
        let other = owner.insert(address, name);
        assert_eq!(other, None, "{name} is at {address:#x} too");
    }
    // Something must name the crate, or cargo leaves it out.
    let _ = cuda_driver::symbol("");
}

#[test]
fn without_a_driver_every_symbol_refuses() {
    support::without_driver("without_a_driver_every_symbol_refuses", || {
        for (name, address) in addresses() {
            if name.starts_with("cuGetError") {
                continue; // these two answer: see tests/without_driver.rs
            }
            // SAFETY: with no driver the call ends in a function that takes no argument.
            let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(address) };
            assert_eq!(function(), 100, "{name}");
        }
    });
}

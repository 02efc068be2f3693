//! The suite's own words and shares: tests that find no GPU are said to be skipped, and a share of the cases is one of several.

use std::process::Command;
use transpose::Device;
use transpose_tests::{is_ours, on_both_devices};

on_both_devices! { nothing, nothing_else }

fn nothing(_: &Device) {}

fn nothing_else(_: &Device) {}

#[test]
fn how_many_is_said_at_the_end() {
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this).arg("nothing").output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    match Device::cuda(0) {
        Ok(_) => assert!(!said.contains("skipped"), "{said}"),
        Err(reason) => {
            let wanted = format!("2 of these tests were skipped on a GPU: {reason}\n");
            assert!(said.ends_with(&wanted), "{said}");
        }
    }
}

/// Says how many of a hundred cases are this process's.
#[test]
#[ignore = "a part of `shares_are_all_cases_once`"]
fn cases_that_are_ours() {
    let ours: Vec<_> = (0..100).filter(|_| is_ours()).collect();
    println!("ours: {ours:?}");
}

#[test]
fn shares_are_all_cases_once() {
    let this = std::env::current_exe().unwrap();
    let ours = |share: &str| -> Vec<usize> {
        let arguments = ["cases_that_are_ours", "--exact", "--ignored", "--nocapture"];
        let output =
            Command::new(&this).args(arguments).env("TRANSPOSE_TESTS_SHARE", share).output();
        let said = String::from_utf8(output.unwrap().stdout).unwrap();
        let list = said.split_once("ours: [").unwrap().1.split_once(']').unwrap().0;
        list.split(", ").map(|case| case.parse().unwrap()).collect()
    };
    let mut all: Vec<usize> = ["0/3", "1/3", "2/3"].into_iter().flat_map(ours).collect();
    assert!(ours("1/3").len() > 20);
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..100));
    assert_eq!(ours("0/1").len(), 100);
}

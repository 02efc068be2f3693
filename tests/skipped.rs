//! Tests that find no GPU are said to be skipped.

use std::process::Command;
use transpose::Device;
use transpose_tests::on_both_devices;

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

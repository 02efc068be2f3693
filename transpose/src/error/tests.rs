//! An error is a line that a screen holds.

use super::*;

/// Characters of a line on a screen.
const LINE: usize = 120;

fn examples() -> Vec<Error> {
    let large = 123_456_789;
    let text = || format!("{large} × {large} elements of 16 bytes, leading dimensions {large}");
    let out_of_memory = Error::OutOfMemory { device: "NVIDIA H200".into(), bytes: 1 << 40 };
    vec![
        Error::SizeOverflow { rows: large, cols: large, ld: large, element_bytes: 16 },
        Error::NoGrid { problem: text() },
        Error::GraphMismatch { of: 1000, captured: text(), given: text() },
        Error::DeviceMismatch { src: "NVIDIA H200".into(), dst: "NVIDIA H200".into() },
        Error::StreamMismatch { device: "NVIDIA H200".into() },
        Error::PlanMismatch { planned: text(), actual: text() },
        Error::GapsInPlace { rows: large, cols: large, ld: large },
        "fastest".parse::<crate::Strategy>().unwrap_err(),
        Error::Interrupted { source: Box::new(out_of_memory) },
        Error::NoDriver {
            reason: cuda_driver::Error::NoLibrary { tried: Vec::new() }.to_string(),
            attempts: vec![text(), text()],
        },
        cuda_driver::Error::Call {
            function: "cuMemAllocFromPoolAsync",
            code: 700,
            name: Some("CUDA_ERROR_ILLEGAL_ADDRESS"),
            text: Some("an illegal memory access was encountered"),
        }
        .into(),
        Error::WindowOutOfBounds {
            offset: large,
            rows: 1000,
            cols: 1000,
            ld: 10_000,
            end: large,
            available: large,
        },
    ]
}

#[test]
fn an_error_is_a_line_and_more_on_request() {
    for error in examples() {
        let line = error.to_string();
        assert!(line.chars().count() <= LINE && !line.contains('\n'), "{line}");
        let all = format!("{error:#}");
        assert!(all.starts_with(&line), "{all}");
        let says_more = matches!(
            error,
            Error::NoGrid { .. }
                | Error::PlanMismatch { .. }
                | Error::GraphMismatch { .. }
                | Error::Interrupted { .. }
                | Error::NoDriver { .. }
        );
        assert_eq!(all.contains("\n  "), says_more, "{all}");
        assert_eq!(error, error.clone());
    }
}

#[test]
fn many_names_stand_under_the_line() {
    let error = "fastest".parse::<crate::InPlace>().unwrap_err();
    assert_eq!(error.to_string(), "there is no in-place algorithm \"fastest\"");
    assert!(format!("{error:#}").ends_with("\n  there are square, two-stage, three-stage, four-stage, four-stage-fused, decomposed, cycle-following, auto"));
}

#[test]
fn attempts_are_those_of_a_driver() {
    let found = examples().iter().map(|error| error.attempts().len()).sum::<usize>();
    assert_eq!(found, 2);
}

#[cfg(feature = "simulator")]
#[test]
fn a_defect_of_a_kernel_is_a_line() {
    let site = simt::Site { line: 12345, block: [100, 100, 100], thread: [1023, 0, 0] };
    let finding = simt::Finding {
        kind: simt::FindingKind::GlobalWriteRace,
        kernel: "transpose_of_a_long_name_b16".into(),
        site,
        touched: None,
        other: Some(site),
        detail: "both wrote".into(),
        occurrences: 7,
    };
    let error = Error::KernelDefects { kernel: "k", findings: vec![finding.clone(), finding] };
    let line = error.to_string();
    assert!(line.chars().count() <= LINE, "{line}");
    assert!(line.ends_with(", and 1 more"), "{line}");
    assert_eq!(format!("{error:#}").matches("both wrote").count(), 2);
}

/// Where elements are that are not there, or are one for several indices.
#[test]
fn what_is_refused_is_so() {
    use crate::layout::Layout;
    let layout = |shape: &[usize], strides: &[isize], offset| {
        crate::TensorLayout::strided(shape, strides, offset, 4)
    };
    let said = |refused: crate::Result<()>| refused.unwrap_err().to_string();
    assert_eq!(
        said(layout(&[3], &[-1], 1).map(drop)),
        "[3] elements, [-1] apart, from element 1 on, begin 1 before the memory's start"
    );
    assert_eq!(
        said(layout(&[3], &[1], 1).unwrap().require_within(3)),
        "[3] elements, [1] apart, from element 1 on, do not lie within the 3 elements that there are"
    );
    assert_eq!(
        said(layout(&[3, 2], &[2, 3], 0).unwrap().require_injective()),
        "[3, 2] elements, [2, 3] apart, overlap or interleave, and cannot be written to"
    );
    let short = |ld: usize, actual| {
        let expected = Layout::new(2, 3, ld, 4).unwrap().extent();
        Error::LengthMismatch { rows: 2, cols: 3, expected, actual }.to_string()
    };
    assert_eq!(short(3, 7), "a 2 × 3 matrix has 6 elements, the slice has 7");
    assert_eq!(short(5, 7), "a 2 × 3 matrix, rows 5 apart, takes up 8 elements, the slice has 7");
}

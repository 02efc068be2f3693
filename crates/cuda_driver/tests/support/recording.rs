//! Runs a test with the driver of `recording_driver.rs`, and asks that driver what it saw.
#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::{CStr, c_char};
use std::fmt::Debug;
use std::mem::transmute;

/// A context that is not this library's.
pub const FOREIGN: usize = 0xF0;

/// Runs `body` in a process of its own, with the recording driver; the surrounding test is named `name`.
pub fn with_recording(name: &str, body: impl FnOnce()) {
    super::with_compiled(name, "recording_driver", include_str!("recording_driver.rs"), &[], body);
}

/// As `with_recording`, with the functions that a driver of CUDA 11.0 has.
pub fn with_old_driver(name: &str, body: impl FnOnce()) {
    let source = include_str!("recording_driver.rs");
    super::with_compiled(name, "old_driver", source, &["--cfg", "old"], body);
}

fn fake(name: &str) -> *const std::ffi::c_void {
    cuda_driver::symbol(name).expect("the recording driver is not the one that was opened")
}

/// The text that one of the driver's own functions answers with, by lines.
fn lines(name: &str) -> Vec<String> {
    // SAFETY: both functions that are asked have this type in `recording_driver.rs`.
    let function: extern "C" fn() -> *const c_char = unsafe { transmute(fake(name)) };
    // SAFETY: the text is never given back.
    let text = unsafe { CStr::from_ptr(function()) };
    text.to_str().unwrap().lines().map(str::to_owned).collect()
}

/// The calls since the last time: a function, and the context that was current.
pub fn take_log() -> Vec<String> {
    lines("fakeTakeLog")
}

/// The functions called since the last time, without those that only switch contexts.
pub fn take_calls() -> Vec<String> {
    let names = take_log().into_iter().map(|line| line.replace("attribute ", "attribute_"));
    let names = names.map(|line| line.split(' ').next().unwrap_or_default().to_owned());
    names.filter(|name| !name.starts_with("cuCtx")).collect()
}

/// The events recorded and waited for since the last time, as `(record or wait, event, stream)`.
pub fn take_events() -> Vec<(String, u64, u64)> {
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let parse = |line: String| {
        let [what, event, stream] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        (what.to_owned(), number(event), number(stream))
    };
    lines("fakeTakeEvents").into_iter().map(parse).collect()
}

/// What `cuEventQuery` answers from now on: 0 for a device that has come to it, 600 for one that has not.
pub fn answer_events(code: u32) {
    set_attribute(1_000_000, code as i32);
}

/// What was made and not given back.
pub fn live() -> Vec<String> {
    lines("fakeLive")
}

/// Lets the call after `calls` more fail with `code`; a code of 0 calls that off.
pub fn fail(calls: usize, code: u32) {
    // SAFETY: its type in `recording_driver.rs`.
    let function: extern "C" fn(usize, u32) = unsafe { transmute(fake("fakeFail")) };
    function(calls, code);
}

/// Lets all calls after `calls` more fail with `code`, as on a device that is lost; a code of 0 calls that off.
pub fn lose(calls: usize, code: u32) {
    // SAFETY: its type in `recording_driver.rs`.
    let function: extern "C" fn(usize, u32) = unsafe { transmute(fake("fakeLose")) };
    function(calls, code);
}

/// What lives and was not even tried to be given back, and what was given back twice.
pub fn take_mistakes() -> Vec<String> {
    lines("fakeTakeMistakes")
}

/// Lets every call of `function` fail with `code`; a code of 0 calls that off.
pub fn refuse(function: &str, code: u32) {
    type Refuse = unsafe extern "C" fn(*const c_char, u32);
    // SAFETY: its type in `recording_driver.rs`.
    let refuse: Refuse = unsafe { transmute(fake("fakeRefuse")) };
    let name = std::ffi::CString::new(function).unwrap();
    // SAFETY: a text with a zero byte behind it.
    unsafe { refuse(name.as_ptr(), code) };
}

/// Gives a device attribute another value.
pub fn set_attribute(attribute: u32, value: i32) {
    // SAFETY: its type in `recording_driver.rs`.
    let function: extern "C" fn(u32, i32) = unsafe { transmute(fake("fakeSetAttribute")) };
    function(attribute, value);
}

/// Makes a context the only one of the calling thread; 0 for none.
pub fn set_current(context: usize) {
    // SAFETY: its type in `recording_driver.rs`.
    let function: extern "C" fn(usize) = unsafe { transmute(fake("fakeSetCurrent")) };
    function(context);
}

/// The calling thread's contexts: how many, and the current one.
pub fn contexts() -> (usize, usize) {
    // SAFETY: its type in `recording_driver.rs`.
    let function: extern "C" fn(*mut usize) -> usize = unsafe { transmute(fake("fakeCurrent")) };
    let mut current = 0;
    let count = function(&mut current);
    (count, current)
}

/// The functions whose failure nobody is told of: they give something back, or leave a context.
const SILENT: [&str; 14] = [
    "cuCtxPopCurrent_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuStreamDestroy_v2",
    "cuIpcCloseMemHandle",
    "cuEventDestroy_v2",
    "cuModuleUnload",
    "cuMemPoolDestroy",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuMemHostUnregister",
    "cuMemFreeAsync",
    "cuMemPoolTrimTo",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
];

/// Whether a call only gives something back, or switches contexts.
fn is_silent(line: &str) -> bool {
    line.starts_with("cuCtx") || SILENT.contains(&name(line))
}

fn name(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Runs `work` again and again, each time with another call of the driver failing with a code that nobody knows, until
/// it makes no more calls. Each time the code is in the error, the caller's current context is what it was, and nothing
/// is left behind but what could not be given back. No error is owed for a call that gives something back, for one that
/// only such calls follow, and for those that `may_fail` names.
pub fn fail_each_call<E: Debug>(
    work: impl Fn() -> Result<(), E>,
    code_of: impl Fn(&E) -> Option<u32>,
    may_fail: impl Fn(&str) -> bool,
) {
    const CODE: u32 = 999_999;
    for call in 0.. {
        set_current(FOREIGN);
        take_log();
        fail(call, CODE);
        let result = work();
        fail(0, 0);
        let mut log = take_log();
        log.retain(|line| !line.starts_with("attribute "));
        if call >= log.len() {
            result.unwrap();
            assert!(call > 10, "the work made no calls");
            return;
        }
        let failed = name(&log[call]);
        let silent = is_silent(&log[call]) || log[call + 1..].iter().all(|line| is_silent(line));
        match &result {
            Err(error) => {
                assert_eq!(code_of(error), Some(CODE), "{failed}, call {call}: {error:?}")
            }
            Ok(()) => assert!(silent || may_fail(failed), "{failed}, call {call}: no error"),
        }
        if failed != "cuCtxPopCurrent_v2" {
            assert_eq!(contexts(), (1, FOREIGN), "{failed}, call {call}");
        }
        if !is_silent(&log[call]) {
            assert_eq!(live(), [""; 0], "{failed}, call {call}");
        }
        assert_eq!(given_back_twice(), [""; 0], "{failed}, call {call}");
        forget_live();
    }
}

/// What was given back twice. (What a call was needed for that failed, a switch of contexts say, may stay.)
fn given_back_twice() -> Vec<String> {
    lines("fakeTakeTwice")
}

/// Runs `work` again and again, each time with the device lost one call later: from that call on every call fails with `code`. Each
/// time the code is in the error, and nothing is given back twice, though the driver does not take it. No error is owed where nothing
/// follows but what gives back, asks, or what `may_end` names. What is kept is for the caller to ask ([`take_mistakes`]), once all that holds
/// the device is gone.
pub fn lose_at_each_call<E: Debug>(
    code: u32,
    work: impl Fn() -> Result<(), E>,
    code_of: impl Fn(&E) -> Option<u32>,
    may_end: &[&str],
) {
    for call in 0.. {
        set_current(FOREIGN);
        take_log();
        lose(call, code);
        let result = work();
        lose(0, 0);
        let mut log = take_log();
        log.retain(|line| !line.starts_with("attribute "));
        if call >= log.len() {
            result.unwrap();
            return;
        }
        let failed = name(&log[call]);
        // What is dropped may ask for its work, or wait for it, and has nobody to tell what came of it.
        let asks = ["cuStreamSynchronize", "cuEventQuery"];
        let ends = |line: &String| {
            is_silent(line) || asks.contains(&name(line)) || may_end.contains(&name(line))
        };
        let silent = log[call..].iter().all(ends);
        match &result {
            Err(error) => {
                assert_eq!(code_of(error), Some(code), "{failed}, call {call}: {error:?}")
            }
            Ok(()) => assert!(silent, "{failed}, call {call}: no error"),
        }
        assert_eq!(given_back_twice(), [""; 0], "{failed}, call {call}");
        assert_eq!(contexts(), (1, FOREIGN), "{failed}, call {call}");
    }
}

/// Runs `work` again and again, each time with another of its calls failing with `code`, until it makes no more calls; and after each
/// failure once more, when it has to work. What lives is afterwards what lived before.
pub fn recovers_from_each_failure<E: Debug>(
    code: u32,
    work: impl Fn() -> Result<(), E>,
    right: impl Fn(&E) -> bool,
) {
    // What is loaded at the first use.
    work().unwrap();
    let sorted = || {
        let mut kinds = live();
        kinds.sort_unstable();
        kinds
    };
    let mut before = sorted();
    for call in 0.. {
        take_log();
        fail(call, code);
        let result = work();
        fail(0, 0);
        let mut log = take_log();
        log.retain(|line| !line.starts_with("attribute "));
        if call >= log.len() {
            return result.unwrap();
        }
        let failed = name(&log[call]);
        if let Err(error) = result {
            assert!(right(&error), "{failed}, call {call}: {error:?}");
        }
        work().unwrap_or_else(|error| panic!("after {failed}, call {call}: {error:?}"));
        assert_eq!(given_back_twice(), [""; 0], "{failed}, call {call}");
        if is_silent(&log[call]) {
            before = sorted();
        }
        assert_eq!(sorted(), before, "{failed}, call {call}");
    }
}

/// Forgets what lives.
fn forget_live() {
    // SAFETY: its type in `recording_driver.rs`.
    let function: extern "C" fn() = unsafe { transmute(fake("fakeClear")) };
    function();
}

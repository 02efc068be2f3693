//! A driver library that does nothing but keep the books: it writes down every call and the calling thread's current
//! context, knows what lives, refuses what a real driver would refuse without a context, and fails the call that it is
//! told to fail. Functions whose names start with `fake` are its own; `recording.rs` calls them.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

const INVALID_CONTEXT: u32 = 201;
const INVALID_HANDLE: u32 = 400;

/// What is no attribute of a device: what `cuEventQuery` answers.
const EVENT_ANSWER: u32 = 1_000_000;

/// The one device's primary context.
const PRIMARY: usize = 0xC0;

struct State {
    log: Vec<String>,
    /// The calls still to come before the one that fails, and what it answers.
    failing: Option<(usize, u32)>,
    /// The calls still to come before all fail, and what they answer: what a lost device does.
    losing: Option<(usize, u32)>,
    /// A function that always fails, and what it answers.
    refused: Option<(String, u32)>,
    /// What was given back, or was tried to be, and by which function.
    given_back: BTreeMap<u64, &'static str>,
    /// The functions that were to give back what they, or others, had been given back before.
    twice: Vec<&'static str>,
    /// What lives, and of what kind.
    live: BTreeMap<u64, &'static str>,
    next: u64,
    attributes: BTreeMap<u32, i32>,
    /// The events that were recorded and waited for, and on which streams.
    events: Vec<String>,
}

static STATE: Mutex<State> = Mutex::new(State {
    log: Vec::new(),
    failing: None,
    losing: None,
    refused: None,
    given_back: BTreeMap::new(),
    twice: Vec::new(),
    live: BTreeMap::new(),
    next: 0x1000,
    attributes: BTreeMap::new(),
    events: Vec::new(),
});

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn current() -> usize {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

impl State {
    fn create(&mut self, kind: &'static str) -> u64 {
        self.next += 0x1000;
        self.live.insert(self.next, kind);
        self.next
    }
}

/// The functions that give back what their first argument names.
const GIVING_BACK: [&str; 10] = [
    "cuStreamDestroy_v2",
    "cuEventDestroy_v2",
    "cuModuleUnload",
    "cuMemPoolDestroy",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuMemFreeAsync",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuIpcCloseMemHandle",
];

/// Notes a call; `Some` if it is to fail.
fn called(name: &'static str, needs_context: bool, first: Option<u64>) -> Option<u32> {
    let mut state = state();
    state.log.push(format!("{name} {:x}", current()));
    if let Some(object) = first.filter(|_| GIVING_BACK.contains(&name)) {
        if state.given_back.insert(object, name).is_some() {
            state.twice.push(name);
        }
    }
    match &mut state.losing {
        // Contexts come and go on lost devices too.
        Some((0, _)) if name.starts_with("cuCtx") => {}
        Some((0, code)) => return Some(*code),
        Some((calls, _)) => *calls -= 1,
        None => {}
    }
    match &mut state.failing {
        Some((0, code)) => {
            let code = *code;
            state.failing = None;
            return Some(code);
        }
        Some((calls, _)) => *calls -= 1,
        None => {}
    }
    match &state.refused {
        Some((refused, code)) if refused == name => Some(*code),
        _ => (needs_context && current() != PRIMARY).then_some(INVALID_CONTEXT),
    }
}

fn destroy(kind: &'static str, object: u64) -> u32 {
    match state().live.remove(&object) {
        Some(found) if found == kind => 0,
        _ => INVALID_HANDLE,
    }
}

macro_rules! driver {
    ($needs_context:literal: $(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
            let arguments: &[u64] = &[$($argument as u64),*];
            match called(stringify!($name), $needs_context, arguments.first().copied()) {
                Some(code) => code,
                None => unsafe { $body },
            }
        }
    )* };
}

/// A `CUipcMemHandle`, which the driver takes by value.
#[repr(C)]
pub struct Handle([u64; 8]);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcOpenMemHandle_v2(address: *mut u64, _: Handle, _flags: u32) -> u32 {
    match called("cuIpcOpenMemHandle_v2", true, None) {
        Some(code) => code,
        None => {
            let opened = state().create("opened memory");
            unsafe { address.write(opened) };
            0
        }
    }
}

driver! { false:
    fn cuInit(_flags: u32) { 0 }
    fn cuDriverGetVersion(version: *mut i32) { version.write(12090); 0 }
    fn cuDeviceGetCount(count: *mut i32) { count.write(1); 0 }
    fn cuDeviceGet(device: *mut i32, ordinal: i32) {
        device.write(ordinal);
        if ordinal == 0 { 0 } else { 101 }
    }
    fn cuDeviceGetName(name: *mut c_char, length: i32, _device: i32) {
        let text = c"Recording GPU".to_bytes_with_nul();
        assert!(text.len() <= length as usize);
        text.as_ptr().cast::<c_char>().copy_to(name, text.len());
        0
    }
    fn cuDeviceGetAttribute(value: *mut i32, attribute: u32, _device: i32) {
        if cfg!(old) && attribute >= 115 {
            return 1;
        }
        let usual = match attribute {
            16 => 132,
            75 => 9,
            81 => 228 << 10,
            97 => 227 << 10,
            89 | 95 | 115 => 1,
            _ => 0,
        };
        value.write(state().attributes.get(&attribute).copied().unwrap_or(usual));
        0
    }
    fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        can.write(i32::from(device != peer));
        0
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: i32) { bytes.write(80 << 30); 0 }
    fn cuDevicePrimaryCtxRetain(context: *mut usize, _device: i32) {
        context.write(PRIMARY);
        state().create("retained context");
        0
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: i32) {
        let mut state = state();
        let retained = state.live.iter().find(|(_, kind)| **kind == "retained context");
        let Some(id) = retained.map(|(id, _)| *id) else { return INVALID_CONTEXT };
        state.live.remove(&id);
        0
    }
    fn cuStreamGetCtx(_stream: u64, context: *mut usize) { context.write(PRIMARY); 0 }
    fn cuPointerGetAttribute(value: *mut c_void, attribute: u32, address: u64) {
        match attribute {
            // No address is given out twice.
            7 => value.cast::<u64>().write(address),
            // Memory of pools is in no context.
            1 => {
                let pooled = state().live.get(&address) == Some(&"pool memory");
                value.cast::<usize>().write(if pooled { 0 } else { PRIMARY });
            }
            _ => value.cast::<i32>().write(0),
        }
        0
    }
    fn cuCtxSetCurrent(context: usize) {
        STACK.with_borrow_mut(|stack| { stack.pop(); stack.push(context) });
        0
    }
    fn cuDevicePrimaryCtxSetFlags_v2(_device: i32, _flags: u32) { 0 }
    fn cuCtxGetCurrent(context: *mut usize) { context.write(current()); 0 }
    fn cuCtxPushCurrent_v2(context: usize) { STACK.with_borrow_mut(|stack| stack.push(context)); 0 }
    fn cuCtxPopCurrent_v2(context: *mut usize) {
        let Some(popped) = STACK.with_borrow_mut(Vec::pop) else { return INVALID_CONTEXT };
        context.write(popped);
        0
    }
}

/// Writes down which event an event call was about, and on which stream.
fn note(what: &str, event: u64, stream: u64) -> u32 {
    state().events.push(format!("{what} {event:x} {stream:x}"));
    0
}

driver! { true:
    fn cuCtxGetDevice(device: *mut i32) { device.write(0); 0 }
    fn cuCtxSynchronize() { 0 }
    fn cuCtxEnablePeerAccess(_peer: usize, _flags: u32) { 0 }
    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        least.write(0);
        greatest.write(-5);
        0
    }
    fn cuStreamCreate(stream: *mut u64, _flags: u32) { stream.write(state().create("stream")); 0 }
    fn cuStreamDestroy_v2(stream: u64) { destroy("stream", stream) }
    fn cuStreamSynchronize(_stream: u64) { 0 }
    fn cuEventCreate(event: *mut u64, _flags: u32) { event.write(state().create("event")); 0 }
    fn cuEventDestroy_v2(event: u64) { destroy("event", event) }
    fn cuStreamCreateWithPriority(stream: *mut u64, _flags: u32, _priority: i32) {
        stream.write(state().create("stream"));
        0
    }
    fn cuStreamWaitEvent(stream: u64, event: u64, _flags: u32) { note("wait", event, stream) }
    fn cuEventRecord(event: u64, stream: u64) { note("record", event, stream) }
    fn cuEventQuery(_event: u64) { state().attributes.get(&EVENT_ANSWER).map_or(0, |answer| *answer as u32) }
    fn cuEventSynchronize(_event: u64) { 0 }
    fn cuEventElapsedTime(milliseconds: *mut f32, _start: u64, _stop: u64) {
        milliseconds.write(1.5);
        0
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        free.write(79 << 30);
        total.write(80 << 30);
        0
    }
    fn cuMemAlloc_v2(address: *mut u64, _bytes: usize) { address.write(state().create("memory")); 0 }
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, _flags: u32) {
        let host = pages(bytes);
        state().live.insert(host as u64, "memory");
        address.write(host as u64);
        0
    }
    fn cuMemFree_v2(address: u64) { destroy("memory", address) }
    fn cuIpcGetMemHandle(handle: *mut u64, address: u64) {
        let shareable = state().live.get(&address) == Some(&"memory");
        handle.write(address);
        if shareable { 0 } else { 1 }
    }
    fn cuIpcCloseMemHandle(address: u64) { destroy("opened memory", address) }
    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) {
        base.write(address);
        bytes.write(4096);
        0
    }
    fn cuMemHostAlloc(host: *mut u64, bytes: usize, _flags: u32) {
        let allocated = pages(bytes) as u64;
        state().live.insert(allocated, "host memory");
        host.write(allocated);
        0
    }
    fn cuMemHostGetDevicePointer_v2(address: *mut u64, host: u64, _flags: u32) {
        address.write(host);
        0
    }
    fn cuMemFreeHost(host: u64) { destroy("host memory", host) }
    fn cuMemHostRegister_v2(host: u64, _bytes: usize, _flags: u32) {
        state().live.insert(host, "registered memory");
        0
    }
    fn cuMemHostUnregister(host: u64) { destroy("registered memory", host) }

    fn cuMemsetD8Async(_address: u64, _byte: u8, _bytes: usize, _stream: u64) { 0 }
    fn cuMemcpyHtoD_v2(_to: u64, _from: u64, _bytes: usize) { 0 }
    fn cuMemcpyHtoDAsync_v2(_to: u64, _from: u64, _bytes: usize, _stream: u64) { 0 }
    fn cuMemcpyDtoHAsync_v2(_to: u64, _from: u64, _bytes: usize, _stream: u64) { 0 }
    fn cuMemcpyDtoDAsync_v2(_to: u64, _from: u64, _bytes: usize, _stream: u64) { 0 }
    fn cuMemcpyPeerAsync(
        _to: u64, _there: usize, _from: u64, _here: usize, _bytes: usize, _stream: u64
    ) { 0 }
    fn cuMemcpy2DAsync_v2(_copy: *const c_void, _stream: u64) { 0 }

    fn cuModuleLoadData(module: *mut u64, _image: *const c_void) {
        module.write(state().create("module"));
        0
    }
    fn cuModuleUnload(module: u64) { destroy("module", module) }
    fn cuModuleGetFunction(function: *mut u64, module: u64, name: *const c_char) {
        match CStr::from_ptr(name).to_bytes() {
            b"no_such_kernel" => 500,
            _ => { function.write(module + 1); 0 }
        }
    }
    fn cuFuncGetAttribute(value: *mut i32, _attribute: u32, _function: u64) { value.write(0); 0 }
    fn cuFuncSetAttribute(_function: u64, _attribute: u32, _value: i32) { 0 }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut i32, _function: u64, _threads: i32, _dynamic_shared: usize
    ) { blocks.write(2); 0 }
    fn cuLaunchKernel(
        _function: u64, _gx: u32, _gy: u32, _gz: u32, _bx: u32, _by: u32, _bz: u32, _shared: u32,
        _stream: u64, _arguments: *mut c_void, _extra: *mut c_void
    ) { 0 }
    fn cuLaunchCooperativeKernel(
        _function: u64, _gx: u32, _gy: u32, _gz: u32, _bx: u32, _by: u32, _bz: u32, _shared: u32,
        _stream: u64, _arguments: *mut c_void
    ) { 0 }
}

/// What a driver of CUDA 11.0 lacks.
#[cfg(not(old))]
mod newer {
    use super::*;

    driver! { true:
        fn cuMemPoolCreate(pool: *mut u64, _properties: *const c_void) {
            pool.write(state().create("pool"));
            0
        }
        fn cuMemPoolDestroy(pool: u64) { destroy("pool", pool) }
        fn cuMemPoolSetAttribute(_pool: u64, _attribute: u32, _value: *mut c_void) { 0 }
        fn cuMemPoolSetAccess(_pool: u64, _access: *const c_void, _count: usize) { 0 }
        fn cuMemPoolTrimTo(_pool: u64, _bytes: usize) { 0 }
        fn cuMemAllocFromPoolAsync(address: *mut u64, _bytes: usize, _pool: u64, _stream: u64) {
            address.write(state().create("pool memory"));
            0
        }
        fn cuMemAllocAsync(address: *mut u64, _bytes: usize, _stream: u64) {
            address.write(state().create("pool memory"));
            0
        }
        fn cuMemFreeAsync(address: u64, _stream: u64) { destroy("pool memory", address) }
        fn cuStreamBeginCapture_v2(_stream: u64, _mode: u32) { 0 }
        fn cuStreamEndCapture(_stream: u64, graph: *mut u64) {
            graph.write(state().create("graph"));
            0
        }
        fn cuGraphInstantiateWithFlags(exec: *mut u64, _graph: u64, _flags: u64) {
            exec.write(state().create("graph to launch"));
            0
        }
        fn cuGraphLaunch(_exec: u64, _stream: u64) { 0 }
        fn cuGraphExecDestroy(exec: u64) { destroy("graph to launch", exec) }
        fn cuGraphDestroy(graph: u64) { destroy("graph", graph) }
        fn cuLaunchKernelEx(
            config: *const [u64; 7], _function: u64, _arguments: *mut c_void, _extra: *mut c_void
        ) {
            // The one attribute's number is behind the pointer that is the configuration's sixth word.
            let attribute = (config.read()[5] as *const u32).read();
            state().log.push(format!("attribute {attribute}"));
            0
        }
    }
}

/// Zeroed memory of the host that is never given back.
fn pages(bytes: usize) -> *mut u8 {
    let layout = std::alloc::Layout::from_size_align(bytes, 4096).unwrap();
    unsafe { std::alloc::alloc_zeroed(layout) }
}

fn answer(text: *mut *const c_char, words: Option<&'static CStr>) -> u32 {
    unsafe { text.write(words.map_or(std::ptr::null(), CStr::as_ptr)) };
    if words.is_some() { 0 } else { 1 }
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: u32, text: *mut *const c_char) -> u32 {
    let name = match code {
        2 => Some(c"CUDA_ERROR_OUT_OF_MEMORY"),
        34 => Some(c"CUDA_ERROR_STUB_LIBRARY"),
        700 => Some(c"CUDA_ERROR_ILLEGAL_ADDRESS"),
        _ => None,
    };
    answer(text, name)
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32 {
    let words = match code {
        2 => Some(c"out of memory"),
        34 => Some(c"this is the stub library"),
        700 => Some(c"an illegal memory access was encountered"),
        _ => None,
    };
    answer(text, words)
}

/// The calls since the last time, a line each: a name and the context that was current.
#[unsafe(no_mangle)]
extern "C" fn fakeTakeLog() -> *const c_char {
    let log = std::mem::take(&mut state().log).join("\n");
    CString::new(log).unwrap().into_raw()
}

/// The events recorded and waited for since the last time, a line each: which event, on which stream.
#[unsafe(no_mangle)]
extern "C" fn fakeTakeEvents() -> *const c_char {
    let events = std::mem::take(&mut state().events).join("\n");
    CString::new(events).unwrap().into_raw()
}

/// What lives, a line each.
#[unsafe(no_mangle)]
extern "C" fn fakeLive() -> *const c_char {
    let live = state().live.values().copied().collect::<Vec<_>>().join("\n");
    CString::new(live).unwrap().into_raw()
}

/// Lets the call after `calls` more fail with `code`; 0 calls off what was asked before.
#[unsafe(no_mangle)]
extern "C" fn fakeFail(calls: usize, code: u32) {
    state().failing = (code != 0).then_some((calls, code));
}

/// Lets all calls after `calls` more fail with `code`, as on a device that is lost; 0 calls that off.
#[unsafe(no_mangle)]
extern "C" fn fakeLose(calls: usize, code: u32) {
    state().losing = (code != 0).then_some((calls, code));
}

/// Which functions gave back what had been given back before, a line each.
#[unsafe(no_mangle)]
extern "C" fn fakeTakeTwice() -> *const c_char {
    let twice: Vec<&str> = state().twice.drain(..).collect();
    CString::new(twice.join("\n")).unwrap().into_raw()
}

/// What lives and was not even tried to be given back, and which functions gave back what had been given back before; a line each.
#[unsafe(no_mangle)]
extern "C" fn fakeTakeMistakes() -> *const c_char {
    let mut state = state();
    let State { live, given_back, twice, .. } = &mut *state;
    let kept = live.iter().filter(|(id, kind)| {
        **kind != "retained context" && !given_back.contains_key(id)
    });
    let kept = kept.map(|(_, kind)| format!("kept: {kind}"));
    let twice = twice.drain(..).map(|name| format!("twice: {name}"));
    let mistakes: Vec<String> = kept.chain(twice).collect();
    CString::new(mistakes.join("\n")).unwrap().into_raw()
}

/// Lets every call of a function fail with `code`; 0 calls that off.
#[unsafe(no_mangle)]
unsafe extern "C" fn fakeRefuse(function: *const c_char, code: u32) {
    let name = unsafe { CStr::from_ptr(function) }.to_str().unwrap().to_owned();
    state().refused = (code != 0).then_some((name, code));
}

/// Gives a device attribute another value.
#[unsafe(no_mangle)]
extern "C" fn fakeSetAttribute(attribute: u32, value: i32) {
    state().attributes.insert(attribute, value);
}

/// Makes a context the only one of the calling thread; 0 for none.
#[unsafe(no_mangle)]
extern "C" fn fakeSetCurrent(context: usize) {
    STACK.set(if context == 0 { Vec::new() } else { vec![context] });
}

/// The calling thread's contexts: how many, and the current one.
#[unsafe(no_mangle)]
extern "C" fn fakeCurrent(current: *mut usize) -> usize {
    unsafe { current.write(self::current()) };
    STACK.with_borrow(Vec::len)
}

/// Forgets what lives.
#[unsafe(no_mangle)]
extern "C" fn fakeClear() {
    let mut state = state();
    state.live.clear();
    state.given_back.clear();
    state.twice.clear();
}

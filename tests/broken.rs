//! Kernels broken on purpose: a check that never fired is no check.
//!
//! Each breaks one line of a sound transpose, as a programmer might. The simulator must find each,
//! and nothing in the sound one. `on_a_gpu` runs one of them on a GPU, where compute-sanitizer is to
//! find it; the bundle's `sanitize.sh` does that.

use cust::launch;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use transpose::simt::{
    Checks, Error, FindingKind, LaunchConfig, Memory, Options, Report, Space, Touched,
};
use transpose::{Device, DeviceMatrix};

const SOUND: &str = include_str!("broken/transpose.ptx");

/// A matrix that ends inside a tile.
const N: u32 = 70;
const BYTES: u64 = 4 * N as u64 * N as u64;

/// A line of the sound kernel, what becomes of it, and what is then to be found.
struct Broken {
    name: &'static str,
    /// The line; its last occurrence counts.
    line: &'static str,
    becomes: &'static str,
    found: FindingKind,
    space: Option<Space>,
}

const BROKEN: [Broken; 12] = [
    Broken {
        name: "missing_barrier",
        line: "bar.sync 0;",
        becomes: "",
        found: FindingKind::SharedRace,
        space: Some(Space::Shared),
    },
    Broken {
        name: "divergent_barrier",
        line: "bar.sync 0;",
        becomes: "@%low bar.sync 0;",
        found: FindingKind::DivergentBarrier,
        space: None,
    },
    Broken {
        name: "barrier_after_exit",
        line: "bar.sync 0;",
        becomes: "@!%inside exit; bar.sync 0;",
        found: FindingKind::BarrierAfterExit,
        space: None,
    },
    Broken {
        name: "deadlock",
        line: "bar.sync 0;",
        becomes: "setp.eq.u32 %low, %ty, 0; @%low bra SKIP; bar.sync 1, 1024; SKIP:",
        found: FindingKind::Deadlock,
        space: None,
    },
    Broken {
        name: "off_by_one_edge",
        line: "setp.lt.and.u32 %inside, %y, %n, %inside;",
        becomes: "setp.le.and.u32 %inside, %y, %n, %inside;",
        found: FindingKind::OutOfBounds,
        space: Some(Space::Global),
    },
    Broken {
        name: "tile_without_padding",
        line: "tile[4224];",
        becomes: "tile[4096];",
        found: FindingKind::OutOfBounds,
        space: Some(Space::Shared),
    },
    Broken {
        name: "misaligned_store",
        line: "st.global.u32 [%address], %value;",
        becomes: "st.global.u32 [%address+2], %value;",
        found: FindingKind::Misaligned,
        space: Some(Space::Global),
    },
    Broken {
        name: "overlapping_stores",
        line: "mad.lo.u32 %y, %bx, 32, %ty;",
        becomes: "mad.lo.u32 %y, %bx, 31, %ty;",
        found: FindingKind::GlobalWriteRace,
        space: Some(Space::Global),
    },
    Broken {
        name: "source_overwritten",
        line: "mad.wide.u32 %address, %at, 4, %dst;",
        becomes: "mad.wide.u32 %address, %at, 4, %src;",
        found: FindingKind::GlobalReadWriteRace,
        space: Some(Space::Global),
    },
    Broken {
        name: "tile_never_written",
        line: "@%inside st.shared.u32 [%slot], %value;",
        becomes: "",
        found: FindingKind::UninitialisedShared,
        space: Some(Space::Shared),
    },
    Broken {
        name: "source_never_written",
        line: "mad.wide.u32 %address, %at, 4, %src;",
        becomes: "mad.wide.u32 %address, %at, 4, %dst;",
        found: FindingKind::UninitialisedGlobal,
        space: Some(Space::Global),
    },
    Broken {
        name: "trap",
        line: "ret;",
        becomes: "@%low trap; ret;",
        found: FindingKind::Trap,
        space: None,
    },
];

impl Broken {
    fn named(name: &str) -> &'static Broken {
        BROKEN.iter().find(|broken| broken.name == name).expect("the name of a broken kernel")
    }

    fn ptx(&self) -> String {
        let at = SOUND.rfind(self.line).expect(self.name);
        format!("{}{}{}", &SOUND[..at], self.becomes, &SOUND[at + self.line.len()..])
    }

    /// The number of the line that is broken.
    fn broken_line(&self) -> u32 {
        let before = &SOUND[..SOUND.rfind(self.line).unwrap()];
        1 + before.matches('\n').count() as u32
    }
}

/// Runs the kernel on the simulator with every check on. The destination holds nothing.
fn simulate(ptx: &str) -> Result<(Report, u64), Error> {
    let memory = Memory::new(1 << 20).tracking_initialised();
    let (dst, src) = (memory.alloc(BYTES)?, memory.alloc(BYTES)?);
    memory.write(src, &vec![1; BYTES as usize])?;
    let tiles = N.div_ceil(32);
    let config =
        LaunchConfig { grid: [tiles, tiles, 1], block: [32, 32, 1], dynamic_shared_bytes: 0 };
    let arguments: [&[u8]; 3] = [&dst.to_le_bytes(), &src.to_le_bytes(), &N.to_le_bytes()];
    let options = Options::default().checks(Checks::ALL);
    let module = transpose::simt::Module::parse(ptx)?;
    let report = module.kernel("transpose")?.launch(&memory, &config, &arguments, &options)?;
    Ok((report, dst))
}

#[test]
fn nothing_is_found_in_the_sound_kernel() {
    let (report, dst) = simulate(SOUND).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.writes.unwrap().unwritten(dst, BYTES), []);
}

#[test]
fn every_broken_kernel_is_found() {
    for broken in &BROKEN {
        let findings = match simulate(&broken.ptx()) {
            Ok((report, _)) => report.findings,
            Err(Error::Fault(fault)) => vec![fault.finding],
            Err(other) => panic!("{}: {other}", broken.name),
        };
        let finding = findings.iter().find(|finding| finding.kind == broken.found);
        let finding = finding.unwrap_or_else(|| panic!("{}: {findings:?}", broken.name));
        assert_eq!(finding.kernel, "transpose");
        assert!(finding.site.line > 0, "{finding}");
        assert!(finding.site.thread.iter().zip([32, 32, 1]).all(|(&at, limit)| at < limit));
        let space = finding.touched.map(|Touched { space, .. }| space);
        assert_eq!(space, broken.space, "{finding}");
        if broken.space.is_none() {
            assert_eq!(finding.site.line, broken.broken_line(), "{finding}");
        }
    }
}

/// A row of the destination that no thread writes.
#[test]
fn unwritten_elements_are_found() {
    let line = "@%inside st.global.u32 [%address], %value;";
    let ptx = SOUND.replace(line, &format!("setp.ne.and.u32 %inside, %y, 69, %inside; {line}"));
    let (report, dst) = simulate(&ptx).unwrap();
    assert_eq!(report.findings, []);
    let last_row = dst + 69 * 4 * u64::from(N)..dst + BYTES;
    assert_eq!(report.writes.unwrap().unwritten(dst, BYTES), [last_row]);
}

/// Runs the kernel that the variable `BROKEN` names (or `sound`) on a GPU, with compute-sanitizer
/// around. Not for every day: what a broken kernel does is anybody's guess.
#[test]
#[ignore = "compute-sanitizer runs it"]
fn on_a_gpu() {
    let name = std::env::var("BROKEN").expect("BROKEN names a kernel");
    let ptx = if name == "sound" { SOUND.to_owned() } else { Broken::named(&name).ptx() };
    // The library leaves no context current; cust's is the same one.
    let _context = cust::quick_init().unwrap();
    let device = Device::cuda(0).unwrap();
    let n = N as usize;
    let src = DeviceMatrix::from_host(&device, n, n, &vec![1u32; n * n]).unwrap();
    // The library writes all memory that it hands out; what was never written is the driver's.
    // SAFETY: the memory is read by nobody but the kernel, which is told that it holds nothing.
    let dst = unsafe { cust::memory::DeviceBuffer::<u32>::uninitialized(n * n) }.unwrap();
    let module = Module::from_ptx(ptx, &[]).unwrap();
    let kernel = module.get_function("transpose").unwrap();
    let stream = Stream::new(StreamFlags::DEFAULT, None).unwrap();
    let tiles = N.div_ceil(32);
    // SAFETY: the sound kernel stays inside the two matrices; of a broken one nothing is expected
    // but that the sanitizer speaks.
    let launched = unsafe {
        launch!(kernel<<<(tiles, tiles), (32u32, 32u32), 0, stream>>>(
            dst.as_device_ptr(),
            src.device_address(),
            N
        ))
    };
    launched.unwrap();
    let done = stream.synchronize();
    eprintln!("{name}: {done:?}");
    // What broke the device's context keeps it from freeing anything.
    if done.is_err() {
        std::process::exit(0);
    }
}

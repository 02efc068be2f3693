//! Every check flags a kernel broken on purpose, and stays silent on its correct twin.

mod common;

use common::{Arg, Device, HEAD, arg, kernel_around};
use simt::{
    Checks, Error, Finding, FindingKind, LaunchConfig, Memory, Module, Options, Report, Space,
};

/// The PTX line that `marker` is on: findings must name it.
fn line_of(ptx: &str, marker: &str) -> u32 {
    let found: Vec<_> = ptx.lines().zip(1..).filter(|(text, _)| text.contains(marker)).collect();
    assert_eq!(found.len(), 1, "`{marker}` marks one line");
    found[0].1
}

/// A kernel over `out` (and `in`) with shared memory `tile` and the usual registers.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out, .param .u64 in)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n\
         .shared .align 16 .b8 tile[1024];\n\
         ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in];\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n\
         mad.lo.u32 %r4, %r2, %r3, %r1;   // the thread in the grid\n\
         mad.wide.u32 %d3, %r4, 4, %d1;   // its word of out\n\
         mad.wide.u32 %d4, %r4, 4, %d2;   // its word of in\n\
         mov.u32 %r5, tile;\n\
         mad.lo.u32 %r6, %r1, 4, %r5;     // its word of tile\n\
         {body}\n\
         ret;\n}}\n"
    )
}

struct Run {
    device: Device,
    out: u64,
    input: u64,
}

const WORDS: usize = 512;

impl Run {
    fn new() -> Run {
        let options = Options::default().checks(Checks::ALL).instruction_limit(1 << 20);
        let memory = Memory::new(1 << 24).tracking_initialised();
        let device = Device { memory, options };
        let words: Vec<u32> = (0..WORDS as u32).collect();
        let (out, input) = (device.upload(&words), device.upload(&words));
        Run { device, out, input }
    }

    fn launch(&self, ptx: &str, grid: u32, block: u32) -> Result<Report, Error> {
        let args: [Arg; 2] = [arg(self.out), arg(self.input)];
        self.device.launch(&Module::parse(ptx).unwrap(), "k", grid, block, &args)
    }
}

/// Launches `body` with all checks on and returns what they found.
fn findings(body: &str, grid: u32, block: u32) -> Vec<Finding> {
    let report = Run::new().launch(&kernel(body), grid, block);
    report.unwrap_or_else(|error| panic!("{error}")).findings
}

/// The one kind of finding there is.
#[track_caller]
fn only(findings: &[Finding], kind: FindingKind) -> Finding {
    assert!(!findings.is_empty(), "nothing found");
    for finding in findings {
        assert_eq!(finding.kind, kind, "{finding}");
    }
    findings[0].clone()
}

#[track_caller]
fn clean(body: &str, grid: u32, block: u32) {
    let found = findings(body, grid, block);
    assert!(found.is_empty(), "{}", found[0]);
}

#[track_caller]
fn fault(body: &str, grid: u32, block: u32) -> Finding {
    match Run::new().launch(&kernel(body), grid, block) {
        Err(Error::Fault(fault)) => fault.finding,
        other => panic!("no fault: {other:?}"),
    }
}

const REVERSE_WITHOUT_BARRIER: &str = "
    ld.global.u32 %r7, [%d4];
    st.shared.u32 [%r6], %r7;        // writes
    // no barrier
    sub.u32 %r8, 63, %r1;
    mad.lo.u32 %r8, %r8, 4, %r5;
    ld.shared.u32 %r9, [%r8];        // reads
    st.global.u32 [%d3], %r9;";

#[test]
fn a_missing_barrier_is_a_shared_race() {
    let ptx = kernel(REVERSE_WITHOUT_BARRIER);
    let found = findings(REVERSE_WITHOUT_BARRIER, 2, 64);
    let race = found.iter().find(|f| f.kind == FindingKind::SharedRace).unwrap();
    assert_eq!(race.kernel, "k");
    assert_eq!(race.site.block, [0, 0, 0]);
    let (writes, reads) = (line_of(&ptx, "// writes"), line_of(&ptx, "// reads"));
    let other = race.other.unwrap();
    let mut lines = [race.site.line, other.line];
    lines.sort_unstable();
    assert_eq!(lines, [writes, reads]);
    assert_eq!(race.site.thread[0] + other.thread[0], 63);
    let touched = race.touched.unwrap();
    assert_eq!((touched.space, touched.bytes), (Space::Shared, 4));
    // A race that the simulator's order of warps resolves one way shows here too.
    assert!(found.iter().any(|f| f.kind == FindingKind::UninitialisedShared));
    let fixed = REVERSE_WITHOUT_BARRIER.replace("// no barrier", "bar.sync 0;");
    clean(&fixed, 2, 64);
}

#[test]
fn a_warp_needs_order_too() {
    // Within one warp: lanes are not ordered by running in step.
    let body = REVERSE_WITHOUT_BARRIER.replace("63", "31");
    assert_eq!(only(&findings(&body, 1, 32), FindingKind::SharedRace).site.block, [0; 3]);
    clean(&body.replace("// no barrier", "bar.warp.sync -1;"), 1, 32);
    clean(&body.replace("// no barrier", "barrier.sync 3;"), 1, 32);
    // Lanes on different paths may meet at barriers of their own.
    let paths = "
        setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
        bar.warp.sync -1; ld.shared.u32 %r7, [%r6+-64]; bra DONE;
        LOW: st.shared.u32 [%r6], %r1; bar.warp.sync -1;
        DONE:";
    clean(paths, 1, 32);
    // But not beyond the warp.
    let body = REVERSE_WITHOUT_BARRIER.replace("// no barrier", "bar.warp.sync -1;");
    assert!(findings(&body, 1, 64).iter().any(|f| f.kind == FindingKind::SharedRace));
}

/// Each lane waits for the other half of its warp twice, at barriers of its own.
#[test]
fn halves_of_a_warp_take_turns() {
    let body = "
        setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
        st.shared.u32 [%r6+-64], %r1; bar.warp.sync -1; bar.warp.sync -1; ld.shared.u32 %r7, [%r6]; bra DONE;
        LOW: bar.warp.sync -1; ld.shared.u32 %r7, [%r6]; st.shared.u32 [%r6+64], %r7; bar.warp.sync -1;
        DONE: bar.sync 0;";
    clean(body, 1, 32);
}

/// Atomics that follow a weak access are ordered among each other, and not after it.
#[test]
fn atomics_do_not_hide_what_they_race_with() {
    let race = |first: &str| {
        let body = format!(
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra NEXT; {first}
            NEXT: setp.gt.u32 %p1, %r1, 31; @%p1 bra ALL; bar.warp.sync -1;
            ALL: atom.shared.add.u32 %r7, [tile], 1;"
        );
        let all = findings(&body, 1, 64);
        all.iter().any(|found| found.kind == FindingKind::SharedRace)
    };
    assert!(race("st.shared.u32 [tile], %r1;"));
    assert!(race("ld.shared.u32 %r7, [tile];"));
    assert!(!race("st.volatile.shared.u32 [tile], %r1;"));
}

/// Blocks are not ordered, and a block's barrier does not order what it stores before the atomics of others.
#[test]
fn atomics_of_other_blocks_do_not_hide_what_they_race_with() {
    let race = |first: &str| {
        let body = format!(
            "or.b32 %r7, %r1, %r2; setp.ne.u32 %p1, %r7, 0; @%p1 bra ALL; {first}
            ALL: bar.sync 0; atom.global.add.u32 %r7, [%d1], 1;"
        );
        let all = findings(&body, 8, 64);
        use FindingKind::{GlobalReadWriteRace, GlobalWriteRace};
        all.iter().any(|found| matches!(found.kind, GlobalWriteRace | GlobalReadWriteRace))
    };
    for _ in 0..20 {
        assert!(race("st.global.u32 [%d1], %r1;"));
        assert!(race("ld.global.u32 %r7, [%d1];"));
        assert!(!race("st.volatile.global.u32 [%d1], %r1;"));
    }
}

#[test]
fn overwriting_what_others_still_read_is_a_race() {
    let body = "
        st.shared.u32 [%r6], %r1;
        bar.sync 0;
        ld.shared.u32 %r7, [tile];
        // no barrier
        st.shared.u32 [%r6], %r7;    // overwrites
        bar.sync 0;";
    let race = only(&findings(body, 1, 64), FindingKind::SharedRace);
    assert_eq!(race.touched.unwrap().address, 0);
    clean(&body.replace("// no barrier", "bar.sync 0;"), 1, 64);
    // A second trip around a loop must not run into the first.
    let twice = format!("{body}\n{}", body.replace("// no barrier", "bar.sync 0;"));
    assert!(!findings(&twice, 1, 64).is_empty());
}

#[test]
fn two_lanes_that_store_to_one_word_race() {
    let body = "st.shared.u32 [tile], %r1;";
    let race = only(&findings(body, 1, 32), FindingKind::SharedRace);
    assert_eq!(race.other.unwrap().line, race.site.line);
    clean("setp.ne.u32 %p1, %r1, %r1; @%p1 st.shared.u32 [tile], %r1;", 1, 32);
    clean("setp.eq.u32 %p1, %r1, 7; @%p1 st.shared.u32 [tile], %r1;", 1, 32);
}

#[test]
fn bytes_of_one_word_are_apart() {
    let body = "
        add.u32 %r7, %r5, %r1;
        cvt.u16.u32 %h1, %r1;
        st.shared.u8 [%r7], %h1;
        bar.sync 0;
        ld.shared.u8 %h2, [%r7];";
    clean(body, 2, 128);
    let overlapping = body.replace("st.shared.u8 [%r7]", "st.shared.u16 [tile+2]");
    assert!(findings(&overlapping, 1, 32).iter().any(|f| f.kind == FindingKind::SharedRace));
}

/// A counter that the first thread sets to 0, what is `between`, and `op`, by which all count.
fn counter(between: &str, op: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r1, 0;
         @!%p1 st.shared.u32 [tile], 0;
         {between}
         {op}
         bar.sync 0;
         ld.shared.u32 %r7, [tile];
         st.global.u32 [%d3], %r7;"
    )
}

#[test]
fn atomics_on_shared_memory_do_not_race() {
    let count = |op: &str| counter("bar.sync 0;", op);
    clean(&count("red.shared.add.u32 [tile], 1;"), 2, 96);
    let broken =
        count("ld.shared.u32 %r7, [tile]; add.u32 %r7, %r7, 1; st.shared.u32 [tile], %r7;");
    only(&findings(&broken, 1, 96), FindingKind::SharedRace);
    let mixed = count("red.shared.add.u32 [tile], 1; ld.shared.u32 %r7, [tile];");
    only(&findings(&mixed, 1, 96), FindingKind::SharedRace);
    clean(&count("red.shared.add.u32 [tile], 1; ld.volatile.shared.u32 %r7, [tile];"), 1, 96);
}

/// Of all who have read, those of the writer's own warp are waited for.
#[test]
fn readers_of_one_warp_do_not_hide_those_of_another() {
    for (space, word) in [("shared", "[tile]"), ("global", "[%d2]")] {
        let body = |barrier: &str, writer: u32| {
            format!(
                "setp.eq.u32 %p1, %r1, {writer};
                 @%p1 st.shared.u32 [tile], 0;
                 bar.sync 0;
                 ld.{space}.u32 %r7, {word};
                 {barrier}
                 @%p1 st.{space}.u32 {word}, 5;
                 st.global.u32 [%d3], %r7;"
            )
        };
        let kind = if space == "shared" {
            FindingKind::SharedRace
        } else {
            FindingKind::GlobalReadWriteRace
        };
        for writer in [0, 33] {
            clean(&body("bar.sync 0;", writer), 1, 64);
            only(&findings(&body("bar.warp.sync -1;", writer), 1, 64), kind);
        }
    }
}

/// Parts of a warp that exchange side by side, which are no parts here, and lanes that are in no exchange of their own.
#[test]
fn lanes_that_execute_together_name_the_same_ones() {
    let ballot = |mask: &str| {
        format!(
            "and.b32 %r10, %r1, 31; setp.lt.u32 %p1, %r10, 16; {mask}
             vote.sync.ballot.b32 %r7, 1, %r11;
             st.global.u32 [%d3], %r7;"
        )
    };
    clean(&ballot("mov.u32 %r11, 0xffffffff;"), 1, 64);
    for mask in ["selp.b32 %r11, 0xffff, 0xffff0000, %p1;", "mov.u32 %r11, 0xffff;"] {
        let error = Run::new().launch(&kernel(&ballot(mask)), 1, 32).unwrap_err();
        assert!(error.to_string().contains("lanes that execute together"), "{error}");
    }
}

/// A copy may be stored as soon as it is begun: who still reads what was there before has to be waited for.
#[test]
fn copies_race_with_reads_before_they_are_waited_for() {
    let copied = |between: &str| {
        format!(
            "st.shared.u32 [%r6], %r1;
             bar.sync 0;
             xor.b32 %r10, %r1, 63; mad.lo.u32 %r11, %r10, 4, %r5;
             ld.shared.u32 %r7, [%r11];
             {between}
             cp.async.ca.shared.global [%r6], [%d2], 4;
             bar.sync 0;
             cp.async.wait_all;
             bar.sync 0;
             ld.shared.u32 %r8, [%r11];
             add.u32 %r7, %r7, %r8;
             st.global.u32 [%d3], %r7;"
        )
    };
    clean(&copied("bar.sync 0;"), 1, 64);
    only(&findings(&copied(""), 1, 64), FindingKind::SharedRace);
}

/// Nor may the thread that copies touch before it has waited where the copy goes, or write where it comes from. What others do, and what
/// it does elsewhere, is no concern of this.
#[test]
fn copies_race_with_what_their_own_thread_does_before_it_waits() {
    let body = |between: &str| {
        format!(
            "cvt.u64.u32 %d6, %r6; cvta.shared.u64 %d5, %d6;
             mov.u32 %r7, 1; st.global.u32 [%d4], %r7; st.shared.u32 [%r6], %r7; st.shared.u32 [%r6+512], %r7;
             cp.async.ca.shared.global [%r6], [%d4], 4; // copies
             cp.async.commit_group;
             cp.async.ca.shared.global [%r6+512], [%d3], 4;
             cp.async.commit_group;
             {between} // meets
             cp.async.wait_all;
             bar.sync 0; ld.shared.u32 %r8, [%r6]; st.global.u32 [%d4], %r8;"
        )
    };
    let early = [
        "ld.shared.u32 %r8, [%r6];",
        "ld.u32 %r8, [%d5];",
        "ld.shared.u8 %r8, [%r6+3];",
        "st.shared.u32 [%r6], %r7;",
        "red.shared.add.u32 [%r6], %r7;",
        "cp.async.ca.shared.global [%r6], [%d3], 4;",
        "cp.async.wait_group 2; ld.shared.u32 %r8, [%r6];",
    ];
    for between in early {
        let found = only(&findings(&body(between), 1, 64), FindingKind::SharedRace);
        let ptx = kernel(&body(between));
        let lines = [found.site.line, found.other.unwrap().line];
        assert_eq!(lines, [line_of(&ptx, "// meets"), line_of(&ptx, "// copies")], "{between}");
    }
    for between in ["st.global.u32 [%d4], %r7;", "red.global.add.u32 [%d4], %r7;"] {
        only(&findings(&body(between), 1, 64), FindingKind::GlobalReadWriteRace);
    }
    for between in [
        "",
        "ld.global.u32 %r8, [%d4];",
        "st.shared.u32 [%r6+256], %r7;",
        "cp.async.wait_group 1; ld.shared.u32 %r8, [%r6]; st.shared.u32 [%r6], %r8; st.global.u32 [%d4], %r8;",
    ] {
        clean(&body(between), 1, 64);
    }
}

/// A counter that is set and counted up without a barrier between: what the thread that sets it counts itself hides nothing.
#[test]
fn weak_stores_race_with_the_atomics_of_others() {
    let barrier = |between: &str| counter(between, "red.shared.add.u32 [tile], 1;");
    clean(&barrier("bar.sync 0;"), 1, 96);
    only(&findings(&barrier(""), 1, 96), FindingKind::SharedRace);
}

/// Two halves of a warp wait each for itself: what one has written the other must not read, though it has waited, too, or before, or not at all.
#[test]
fn a_part_of_a_warp_waits_for_itself() {
    let body = |low: &str, high: &str| {
        format!(
            "xor.b32 %r10, %r1, 1; mad.lo.u32 %r10, %r10, 4, %r5; // of the same half
             xor.b32 %r11, %r1, 16; mad.lo.u32 %r11, %r11, 4, %r5; // of the other one
             setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
             st.shared.u32 [%r6], %r1; {high} bra DONE;
             LOW: st.shared.u32 [%r6], %r1; {low} DONE: bar.sync 0;"
        )
    };
    let (low, high) = ("bar.warp.sync 0xffff;", "bar.warp.sync 0xffff0000;");
    let own = |wait: &str| format!("{wait} ld.shared.u32 %r7, [%r10];");
    let both = |wait: &str| format!("{wait} ld.shared.u32 %r7, [%r11];");
    clean(&body(&own(low), &own(high)), 1, 32);
    let raced = |low: &str, high: &str| {
        let found = findings(&body(low, high), 1, 32);
        assert!(found.iter().any(|f| f.kind == FindingKind::SharedRace), "{low} {high}");
    };
    // All 32 loads race. Those of lanes that have both waited since, each for others, are found with weak memory alone.
    let mut weak = Run::new();
    weak.device.options = weak.device.options.weak_memory(1);
    let report = weak.launch(&kernel(&body(&both(low), &both(high))), 1, 32).unwrap();
    let race = report.findings.iter().find(|f| f.kind == FindingKind::SharedRace);
    assert_eq!(race.map(|race| race.occurrences), Some(32));
    for (low, high) in [(both(low), both(high)), (both(low), own("")), (own(low), both(""))] {
        raced(&low, &high);
    }
    // One after the other is not enough, and all together is.
    let all = "bar.warp.sync -1;";
    let twice = [low, all].concat();
    clean(&body(&both(&twice), &both(all)), 1, 32);
    clean(&body(&both("barrier.sync 1;"), &both("barrier.sync 1;")), 1, 32);
    raced(&both(&twice), &[&both(""), all].concat());
}

/// What is strong for the block alone races with other blocks, whatever else its own block does there.
#[test]
fn scopes_that_are_too_narrow_are_races() {
    let all = |first: &str, second: &str| {
        let body = format!(
            "setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST; {second} bra DONE; FIRST: {first} DONE:"
        );
        let mut weak = Run::new();
        weak.device.options = weak.device.options.weak_memory(1);
        [Run::new(), weak].map(|run| run.launch(&kernel(&body), 2, 8).unwrap().findings)
    };
    let red = |scope: &str| format!("red.relaxed.{scope}.global.add.u32 [%d1], 1;");
    let set = |scope: &str| format!("st.relaxed.{scope}.global.u32 [%d1], 1;");
    let get = |scope: &str| format!("ld.relaxed.{scope}.global.u32 %r7, [%d1];");
    let both = red("cta") + &red("gpu");
    for (first, second) in [
        (red("cta"), red("cta")),
        (red("cta"), red("gpu")),
        (red("gpu"), red("cta")),
        (both.clone(), red("gpu")),
        (set("cta"), set("cta")),
        (red("gpu"), both),
        (red("gpu"), get("cta")),
        (get("cta"), set("gpu")),
    ] {
        for found in all(&first, &second) {
            // With weak memory an atomic is a read, too.
            let kinds = [FindingKind::GlobalWriteRace, FindingKind::GlobalReadWriteRace];
            assert!(!found.is_empty(), "{first} {second}");
            assert!(found.iter().all(|found| kinds.contains(&found.kind)), "{}", found[0]);
        }
    }
    let elsewhere = "red.relaxed.cta.global.add.u32 [%d1+256], 1;";
    for (first, second) in [
        (red("gpu"), red("gpu")),
        (get("cta"), get("gpu")),
        (red("cta") + &set("cta") + &get("gpu"), elsewhere.to_owned()),
    ] {
        for found in all(&first, &second) {
            assert!(found.is_empty(), "{}", found[0]);
        }
    }
}

#[test]
fn named_barriers_order_those_who_take_part() {
    // Warp 0 produces for warp 1; warp 2 reads without having waited.
    let body = |reader: u32| {
        format!(
            "shr.u32 %r10, %r1, 5;
             setp.eq.u32 %p1, %r10, 0; setp.eq.u32 %p2, %r10, 1; setp.eq.u32 %p3, %r10, {reader};
             @%p1 st.shared.u32 [%r6], 7;
             @%p1 bar.arrive 1, 64;
             @%p2 bar.sync 1, 64;
             and.b32 %r11, %r1, 31;
             mad.lo.u32 %r11, %r11, 4, %r5;
             @%p3 ld.shared.u32 %r7, [%r11];"
        )
    };
    clean(&body(1), 1, 96);
    only(&findings(&body(2), 1, 96), FindingKind::SharedRace);
}

/// Warp 0 hands on to warp 1, and that to warps 2 and 3, each by a barrier of their own.
#[test]
fn named_barriers_hand_on_what_they_know() {
    let body = |first: &str, second: &str| {
        format!(
            "shr.u32 %r10, %r1, 5; and.b32 %r11, %r1, 31; mad.lo.u32 %r11, %r11, 4, %r5;
             setp.eq.u32 %p1, %r10, 0; setp.eq.u32 %p2, %r10, 1; setp.gt.u32 %p3, %r10, 1;
             @%p1 st.shared.u32 [%r6], %r1; @%p1 bar.arrive 1, 64;
             @%p2 {first}; @%p2 bar.arrive 2, 96;
             @%p3 {second};
             @%p3 ld.shared.u32 %r7, [%r11]; @%p3 bar.arrive 3, 96;
             @%p1 bar.sync 3, 96; @%p1 st.shared.u32 [%r6], 0;"
        )
    };
    let (first, second) = ("bar.sync 1, 64", "bar.sync 2, 96");
    clean(&body(first, second), 1, 128);
    for (first, second) in [
        // Warp 1 does not wait for warp 0, or arrives where it should wait.
        ("mov.u32 %r7, 0", second),
        ("bar.arrive 1, 64", second),
        // Warps 2 and 3 do not wait for warp 1.
        (first, "mov.u32 %r7, 0"),
    ] {
        let found = findings(&body(first, second), 1, 128);
        assert!(found.iter().any(|f| f.kind == FindingKind::SharedRace), "{first} {second}");
    }
}

#[test]
fn reading_shared_memory_nobody_wrote() {
    let body = "
        setp.lt.u32 %p1, %r1, 31;    // one short
        @%p1 st.shared.u32 [%r6], %r1;
        bar.sync 0;
        ld.shared.u32 %r7, [%r6];    // reads";
    let found = only(&findings(body, 3, 32), FindingKind::UninitialisedShared);
    assert_eq!(found.site.thread, [31, 0, 0]);
    assert_eq!(found.site.line, line_of(&kernel(body), "// reads"));
    assert_eq!(found.touched.unwrap().address, 124);
    assert_eq!(found.occurrences, 3, "in every block: nothing is left over from the one before");
    clean(&body.replace("31;    // one short", "32;"), 3, 32);
}

#[test]
fn reading_global_memory_nobody_wrote() {
    let run = Run::new();
    let fresh = run.device.memory.alloc(256).unwrap();
    run.device.memory.write(fresh, &[1; 252]).unwrap();
    let ptx = kernel("ld.global.u32 %r7, [%d4]; st.global.u32 [%d3], %r7;");
    let module = Module::parse(&ptx).unwrap();
    let launch = |input| run.device.launch(&module, "k", 2, 32, &[arg(run.out), arg(input)]);
    let found = only(&launch(fresh).unwrap().findings, FindingKind::UninitialisedGlobal);
    assert_eq!((found.site.block, found.site.thread), ([1, 0, 0], [31, 0, 0]));
    assert_eq!(found.touched.unwrap().address, fresh + 252);
    run.device.memory.write(fresh + 252, &[1; 4]).unwrap();
    assert!(launch(fresh).unwrap().findings.is_empty());
    // What a kernel stores counts as written.
    let copy = run.device.memory.alloc(256).unwrap();
    let copied = run.device.launch(&module, "k", 2, 32, &[arg(copy), arg(fresh)]).unwrap();
    assert!(copied.findings.is_empty());
    assert!(launch(copy).unwrap().findings.is_empty());
    // Without tracking the check cannot be had.
    let untracked = Device { memory: Memory::new(1 << 20), options: run.device.options.clone() };
    let out = untracked.upload(&[0u32; 64]);
    let refused = untracked.launch(&module, "k", 1, 32, &[arg(out), arg(out)]);
    assert_eq!(refused.unwrap_err(), Error::NotTracking);
}

#[test]
fn overlapping_global_stores_race() {
    // Tiles of 32 words, 31 apart: neighbouring blocks overlap by one.
    let body = "
        mad.lo.u32 %r7, %r2, 31, %r1;
        mad.wide.u32 %d5, %r7, 4, %d1;
        st.global.u32 [%d5], %r7;    // overlaps";
    let found = only(&findings(body, 4, 32), FindingKind::GlobalWriteRace);
    assert_eq!(found.site.line, line_of(&kernel(body), "// overlaps"));
    let other = found.other.unwrap();
    assert_eq!(other.line, found.site.line);
    assert_eq!(found.site.block[0].abs_diff(other.block[0]), 1);
    assert_eq!(found.site.thread[0] + other.thread[0], 31);
    assert_eq!(found.occurrences, 3);
    clean(&body.replace("31, %r1", "32, %r1"), 4, 32);
    // Narrow elements: neighbours in a word do not overlap.
    let bytes = "
        cvt.u64.u32 %d5, %r4; add.u64 %d5, %d1, %d5; cvt.u16.u32 %h1, %r4;
        st.global.u8 [%d5], %h1;";
    clean(bytes, 4, 32);
    let wide = bytes
        .replace("st.global.u8 [%d5], %h1;", "st.global.u8 [%d5], %h1; st.global.u8 [%d5+1], %h1;");
    only(&findings(&wide, 4, 32), FindingKind::GlobalWriteRace);
}

#[test]
fn a_block_may_write_twice_what_a_barrier_orders() {
    let body = "
        st.global.u32 [%d3], %r1;
        // no barrier
        sub.u32 %r7, 63, %r1;
        mad.wide.u32 %d5, %r7, 4, %d1;
        st.global.u32 [%d5], %r1;";
    only(&findings(body, 1, 64), FindingKind::GlobalWriteRace);
    clean(&body.replace("// no barrier", "bar.sync 0;"), 1, 64);
    clean("st.global.u32 [%d3], %r1; st.global.u32 [%d3], %r2;", 4, 64);
}

#[test]
fn a_block_that_reads_what_another_writes_races() {
    // An in-place shift by one block.
    let body = "
        ld.global.u32 %r7, [%d3+128];
        st.global.u32 [%d3], %r7;";
    only(&findings(body, 4, 32), FindingKind::GlobalReadWriteRace);
    clean("ld.global.u32 %r7, [%d4]; st.global.u32 [%d3], %r7;", 4, 32);
    // In place within the block, through a barrier.
    let swap = "
        xor.b32 %r7, %r4, 1;
        mad.wide.u32 %d5, %r7, 4, %d1;
        ld.global.u32 %r8, [%d5];
        // no barrier
        st.global.u32 [%d3], %r8;";
    only(&findings(swap, 4, 64), FindingKind::GlobalReadWriteRace);
    clean(&swap.replace("// no barrier", "bar.sync 0;"), 4, 64);
    // Atomics may meet.
    clean("atom.global.add.u32 %r7, [%d1], 1;", 4, 32);
    only(
        &findings("atom.global.add.u32 %r7, [%d1], 1; ld.global.u32 %r8, [%d1];", 4, 32),
        FindingKind::GlobalReadWriteRace,
    );
}

#[test]
fn accesses_out_of_bounds_are_fatal() {
    // `<=` for `<`: one thread too many.
    let body = |compare: &str| {
        format!(
            "setp.{compare}.u32 %p1, %r4, {WORDS};
             @%p1 st.global.u32 [%d3], %r4;   // off the end"
        )
    };
    clean(&body("lt"), 5, 128);
    let found = fault(&body("le"), 5, 128);
    assert_eq!(found.kind, FindingKind::OutOfBounds);
    assert_eq!((found.site.block, found.site.thread), ([4, 0, 0], [0, 0, 0]));
    assert_eq!(found.site.line, line_of(&kernel(&body("le")), "// off the end"));
    assert_eq!(found.touched.unwrap().space, Space::Global);
    assert!(
        found.detail.contains("0 bytes past the end of the allocation of 2048 bytes"),
        "{found}"
    );
    for body in [
        "ld.global.u32 %r7, [%d3+-4];",
        "mov.u64 %d5, 0; ld.global.u32 %r7, [%d5];",
        "mov.u64 %d5, -16; st.global.v4.u32 [%d5], {%r1, %r1, %r1, %r1};",
        "ld.shared.u32 %r7, [tile+1024];",
        "st.shared.u32 [%r6+-4], %r7;",
        "atom.shared.add.u32 %r7, [tile+4096], 1;",
        "red.global.add.u32 [%d3+1048576], 1;",
        "ld.param.u64 %d5, [in+8];",
        "mov.u64 %d5, -4; ld.u32 %r7, [%d5];",
        // Not a whole word at the end of shared memory, which is 1030 bytes here.
        "{ .shared .align 4 .b8 odd[6]; ld.shared.u32 %r7, [tile]; ld.shared.u32 %r7, [odd+4]; }",
    ] {
        assert_eq!(fault(body, 1, 1).kind, FindingKind::OutOfBounds, "{body}");
    }
}

#[test]
fn the_end_of_an_allocation_need_not_be_a_word() {
    let run = Run::new();
    let three = run.device.memory.alloc(3).unwrap();
    let module = |body| Module::parse(&kernel(body)).unwrap();
    let byte = module("cvt.u64.u32 %d5, %r1; add.u64 %d5, %d1, %d5; st.global.u8 [%d5], %h1;");
    let launch = |module: &Module, threads| {
        run.device.launch(module, "k", 1, threads, &[arg(three), arg(three)])
    };
    launch(&byte, 3).unwrap();
    assert!(launch(&byte, 4).is_err());
    assert!(launch(&module("ld.global.u32 %r7, [%d1];"), 1).is_err());
    assert!(launch(&module("ld.global.u16 %h7, [%d1];"), 1).is_ok());
}

#[test]
fn freed_memory_is_out_of_bounds() {
    let run = Run::new();
    let freed = run.device.memory.alloc(64).unwrap();
    run.device.memory.free(freed).unwrap();
    let module = Module::parse(&kernel("ld.global.u32 %r7, [%d1];")).unwrap();
    let refused = run.device.launch(&module, "k", 1, 1, &[arg(freed), arg(freed)]);
    assert!(matches!(refused, Err(Error::Fault(f)) if f.finding.kind == FindingKind::OutOfBounds));
}

#[test]
fn misaligned_accesses_are_fatal() {
    for body in [
        "ld.global.u32 %r7, [%d3+2];",
        "ld.global.u16 %h1, [%d3+1];",
        "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d3+4];",
        "st.global.v2.u32 [%d3+4], {%r1, %r1};",
        "st.shared.u64 [tile+4], %d1;",
        "atom.global.add.u64 %d5, [%d3+4], %d1;",
    ] {
        let found = fault(body, 1, 1);
        assert_eq!(found.kind, FindingKind::Misaligned, "{body}");
        assert_eq!(found.site.thread, [0, 0, 0]);
    }
}

#[test]
fn a_barrier_in_divergent_code_is_found() {
    let body = "
        setp.lt.u32 %p1, %r1, 16;
        @!%p1 bra SKIP;
        st.shared.u32 [%r6], %r1;
        bar.sync 0;                  // divergent
        SKIP:";
    let found = only(&findings(body, 2, 32), FindingKind::DivergentBarrier);
    assert_eq!(found.site.line, line_of(&kernel(body), "// divergent"));
    assert_eq!((found.site.block, found.site.thread), ([0; 3], [0; 3]));
    assert_eq!(found.detail, "reached by 16 of the warp's 32 threads");
    // The same condition, alike for the whole warp, is legal.
    clean(&body.replace("bar.sync 0;  ", "bar.sync 1, 32;").replace("16;", "32;"), 2, 64);
    // A predicated barrier is no better.
    let predicated = "setp.lt.u32 %p1, %r1, 16; @%p1 bar.sync 0;";
    only(&findings(predicated, 1, 32), FindingKind::DivergentBarrier);
    // Both sides of a branch having one of their own is not enough.
    let both = "
        setp.lt.u32 %p1, %r1, 16;
        @%p1 bra LOW;
        bar.sync 0;
        bra DONE;
        LOW: bar.sync 0;
        DONE:";
    only(&findings(both, 1, 32), FindingKind::DivergentBarrier);
    // `barrier.sync` without `.aligned` may be reached lane by lane.
    clean(&both.replace("bar.sync", "barrier.sync"), 1, 32);
}

#[test]
fn a_barrier_after_an_early_exit_is_found() {
    let body = "
        setp.ge.u32 %p1, %r1, 40;
        @%p1 exit;
        bar.sync 0;                  // some are gone";
    let found = only(&findings(body, 1, 64), FindingKind::BarrierAfterExit);
    assert_eq!(found.site.line, line_of(&kernel(body), "// some are gone"));
    assert_eq!(found.detail, "24 of the block's 64 threads");
    clean(&body.replace("40;", "64;"), 1, 64);
}

#[test]
fn deadlocks_are_fatal() {
    let cases = [
        // Two threads' worth of warps expected, one comes.
        ("bar.sync 1, 64;", "barrier 1 has 32 of 64 threads"),
        // Warps wait at different barriers.
        (
            "shr.u32 %r7, %r1, 5; add.u32 %r7, %r7, 2; bar.sync %r7;",
            "barrier 2 has 32 of 64 threads",
        ),
        // Lanes that never come.
        (
            "setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW; barrier.sync 3, 32; bra DONE;
             LOW: bar.warp.sync -1; DONE:",
            "waits for lanes 0xffff0000",
        ),
    ];
    for ((body, reason), threads) in cases.into_iter().zip([32, 64, 32]) {
        let found = fault(body, 1, threads);
        assert_eq!(found.kind, FindingKind::Deadlock, "{found}");
        assert!(found.detail.contains(reason), "{found}");
    }
}

#[test]
fn traps_and_endless_loops_are_fatal() {
    let found = fault("setp.eq.u32 %p1, %r4, 70; @%p1 trap;", 3, 32);
    assert_eq!(found.kind, FindingKind::Trap);
    assert_eq!((found.site.block, found.site.thread), ([2, 0, 0], [6, 0, 0]));
    assert_eq!(fault("LOOP: bra LOOP;", 1, 32).kind, FindingKind::InstructionLimit);
    assert_eq!(fault("bar.sync 16;", 1, 32).kind, FindingKind::BadOperand);
    assert_eq!(fault("bar.sync 1, 33;", 1, 32).kind, FindingKind::BadOperand);
    let table = "T: .branchtargets A, B; brx.idx %r1, T; A: B: ";
    assert_eq!(fault(table, 1, 3).kind, FindingKind::BadOperand);
}

#[test]
fn a_shuffle_from_a_lane_that_left_is_found() {
    let body = "
        setp.ge.u32 %p1, %r1, 16;
        @%p1 exit;
        shfl.sync.idx.b32 %r7, %r1, 20, 31, 0xffff;";
    only(&findings(body, 1, 32), FindingKind::InactiveLane);
    clean(&body.replace("20,", "10,"), 1, 32);
}

#[test]
fn the_first_fault_in_order_of_blocks_is_reported() {
    for _ in 0..20 {
        let found = fault("setp.ge.u32 %p1, %r2, 3; @%p1 trap;", 500, 32);
        assert_eq!(found.site.block, [3, 0, 0]);
    }
}

#[test]
fn what_was_found_before_a_fault_is_kept() {
    let body = "st.shared.u32 [tile], %r1; trap;";
    match Run::new().launch(&kernel(body), 1, 32) {
        Err(Error::Fault(fault)) => {
            assert_eq!(fault.finding.kind, FindingKind::Trap);
            only(&fault.earlier, FindingKind::SharedRace);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn findings_are_limited_and_counted() {
    let mut run = Run::new();
    run.device.options.findings_limit = 2;
    let body = "
        st.shared.u32 [tile], %r1;
        st.shared.u32 [tile+4], %r1;
        st.shared.u32 [tile+8], %r1;";
    let report = run.launch(&kernel(body), 1, 32).unwrap();
    assert_eq!(report.findings.len(), 2);
    assert_eq!(report.findings[0].occurrences, 31);
    assert_eq!(report.findings_omitted, 31);
}

#[test]
fn unwritten_bytes_can_be_asked_for() {
    let run = Run::new();
    let body = "setp.ne.u32 %p1, %r4, 5; @%p1 st.global.u32 [%d3], %r4;";
    let writes = run.launch(&kernel(body), 2, 32).unwrap().writes.unwrap();
    let out = run.out;
    let is = |address, bytes, unwritten| assert_eq!(writes.unwritten(address, bytes), [unwritten]);
    is(out, 256, out + 20..out + 24);
    is(out + 16, 6, out + 20..out + 22);
    is(out + 252, 8, out + 256..out + 260);
    is(run.input, 8, run.input..run.input + 8);
    is(0, 8, 0..8);
    assert!(writes.unwritten(out, 20).is_empty());
}

#[test]
fn checks_are_off_unless_asked_for() {
    let mut run = Run::new();
    run.device.options.checks = Checks::NONE;
    let report = run.launch(&kernel(REVERSE_WITHOUT_BARRIER), 1, 64).unwrap();
    assert!(report.findings.is_empty() && report.writes.is_none());
    let module = Module::parse(&kernel(REVERSE_WITHOUT_BARRIER)).unwrap();
    let config = LaunchConfig { grid: [1; 3], block: [64, 1, 1], dynamic_shared_bytes: 0 };
    let only_uninitialised = Options::default().checks(Checks::NONE.uninitialised_shared(true));
    let args = [run.out.to_le_bytes(), run.input.to_le_bytes()];
    let args: Vec<&[u8]> = args.iter().map(|arg| &arg[..]).collect();
    let report =
        module.kernel("k").unwrap().launch(&run.device.memory, &config, &args, &only_uninitialised);
    only(&report.unwrap().findings, FindingKind::UninitialisedShared);
}

/// What `ld.global.nc` loads may be kept where no store reaches it: the launch must not write it, in whatever order.
#[test]
fn a_constant_that_the_launch_writes_is_found() {
    let body = |load: &str| {
        format!(
            "ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %t, 8, %d1;
             {load} %r1, [%d1]; bar.sync 0; add.u32 %r1, %r1, 1; st.global.u32 [%d1], %r1;"
        )
    };
    for (load, found) in
        [("ld.global.nc.u32", vec![FindingKind::ConstantWritten]), ("ld.global.u32", vec![])]
    {
        let device = Device {
            options: Options::default().checks(Checks::ALL_UNTRACKED),
            ..Device::default()
        };
        let out = device.upload(&[0u64; 64]);
        let module = Module::parse(&kernel_around(&body(load))).unwrap();
        let report = device.launch(&module, "k", 1, 64, &[arg(out)]).unwrap();
        let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, found, "{load}");
    }
}

/// A register that only some lanes write is found where others read it, and nowhere else.
#[test]
fn registers_that_were_never_written_are_found() {
    let read = "st.global.u32 [%out], %r1;";
    for (write, found) in [
        ("setp.lt.u32 %p1, %t, 7; @%p1 mov.u32 %r1, 3;", Some([7, 0, 0])),
        ("setp.lt.u32 %p1, %t, 7; @%p1 mov.u32 %r1, 3; @!%p1 mov.u32 %r1, 4;", None),
        ("setp.lt.u32 %p1, %t, 7; @%p1 mov.u32 %r1, 3; @!%p1 exit;", None),
    ] {
        let device = Device {
            options: Options::default().checks(Checks::ALL_UNTRACKED),
            ..Device::default()
        };
        let out = device.upload(&[0u64; 32]);
        let module = Module::parse(&kernel_around(&format!("{write} {read}"))).unwrap();
        let report = device.launch(&module, "k", 1, 32, &[arg(out)]).unwrap();
        let threads = report.findings.iter().map(|finding| {
            assert_eq!(finding.kind, FindingKind::UninitialisedRegister);
            finding.site.thread
        });
        assert_eq!(threads.collect::<Vec<_>>(), Vec::from_iter(found), "{write}");
    }
}

/// A race between two warps, long after the thousandth barrier.
#[test]
fn barriers_by_the_thousand_hide_no_race() {
    let body = "ld.param.u64 %d1, [out]; mov.u32 %r1, 0;
         LOOP: bar.sync 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3000; @%p1 bra LOOP;
         st.global.u32 [%d1], %t;";
    let device =
        Device { options: Options::default().checks(Checks::ALL_UNTRACKED), ..Device::default() };
    let out = device.upload(&[0u64; 64]);
    let module = Module::parse(&kernel_around(body)).unwrap();
    let report = device.launch(&module, "k", 1, 64, &[arg(out)]).unwrap();
    assert_eq!(report.findings[0].kind, FindingKind::GlobalWriteRace);
    // One lane wrote after another, and then one of the other warp: each is a race.
    assert!(report.findings[0].occurrences > 1);
}

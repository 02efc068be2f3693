//! Control flow, barriers, exchanges between lanes, memory of every width.

mod common;

use common::{Device, HEAD, arg, kernel_around, run_body};
use proptest::prelude::*;
use simt::{CounterOptions, LaunchConfig, Module, Options};

// Control flow.

/// A structured program over a variable `x`, run by every thread.
#[derive(Clone, Debug)]
enum Step {
    /// `x = x * 5 + k + t`
    Mix(u32),
    /// By a bit of `x`.
    If(u32, Vec<Step>, Vec<Step>),
    /// As often as two bits of `x` say; left early where a bit of `x` is set.
    Loop(u32, Vec<Step>, Option<u32>),
    /// By the value of three bits of `x`, through a table of targets.
    Switch(u32, Vec<Vec<Step>>),
    /// The thread stores `x` and ends if a bit of `x` and one of `t` are set.
    Exit(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let leaf =
        prop_oneof![4 => any::<u32>().prop_map(Step::Mix), 1 => (0..32u32).prop_map(Step::Exit)];
    let step = leaf.prop_recursive(4, 40, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            3 => (0..32u32, body(), body()).prop_map(|(bit, a, b)| Step::If(bit, a, b)),
            2 => (0..30u32, body(), prop::option::of(0..32u32)).prop_map(|(bit, a, b)| Step::Loop(bit, a, b)),
            1 => (0..29u32, prop::collection::vec(body(), 8)).prop_map(|(bit, arms)| Step::Switch(bit, arms)),
        ]
    });
    prop::collection::vec(step, 1..6)
}

/// Writes PTX, counting labels.
struct Emit {
    ptx: String,
    labels: u32,
}

impl Emit {
    fn line(&mut self, text: String) {
        self.ptx += &text;
        self.ptx.push('\n');
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn test_bit(&mut self, bit: u32) {
        self.line(format!("bfe.u32 %y, %x, {bit}, 1; setp.ne.u32 %p1, %y, 0;"));
    }

    fn steps(&mut self, steps: &[Step], depth: u32) {
        for step in steps {
            match step {
                Step::Mix(k) => {
                    self.line(format!("mad.lo.u32 %x, %x, 5, {k}; add.u32 %x, %x, %t;"))
                }
                Step::If(bit, then, other) => {
                    let (a, b) = (self.label(), self.label());
                    self.test_bit(*bit);
                    self.line(format!("@!%p1 bra L{a};"));
                    self.steps(then, depth);
                    self.line(format!("bra L{b};\nL{a}:"));
                    self.steps(other, depth);
                    self.line(format!("L{b}:"));
                }
                Step::Loop(bit, body, leave) => {
                    let (head, end, n) = (self.label(), self.label(), depth);
                    self.line(format!("bfe.u32 %n{n}, %x, {bit}, 2;\nL{head}:"));
                    self.line(format!("setp.eq.u32 %p1, %n{n}, 0;\n@%p1 bra L{end};"));
                    self.line(format!("sub.u32 %n{n}, %n{n}, 1;"));
                    self.steps(body, depth + 1);
                    if let Some(bit) = leave {
                        self.test_bit(*bit);
                        self.line(format!("@%p1 bra L{end};"));
                    }
                    self.line(format!("bra L{head};\nL{end}:"));
                }
                Step::Switch(bit, arms) => {
                    let (table, end) = (self.label(), self.label());
                    let labels: Vec<u32> = arms.iter().map(|_| self.label()).collect();
                    let names: Vec<_> = labels.iter().map(|label| format!("L{label}")).collect();
                    self.line(format!("T{table}: .branchtargets {};", names.join(", ")));
                    self.line(format!("bfe.u32 %y, %x, {bit}, 3; brx.idx %y, T{table};"));
                    for (label, arm) in labels.iter().zip(arms) {
                        self.line(format!("L{label}:"));
                        self.steps(arm, depth);
                        self.line(format!("bra L{end};"));
                    }
                    self.line(format!("L{end}:"));
                }
                Step::Exit(bit) => {
                    self.line("shr.u32 %y, %t, 1; and.b32 %y, %y, %x;".to_owned());
                    self.line(format!("bfe.u32 %y, %y, {bit}, 1; setp.ne.u32 %p1, %y, 0;"));
                    self.line("@%p1 st.global.u32 [%out], %x;\n@%p1 exit;".to_owned());
                }
            }
        }
    }
}

/// What a thread computes; true if it ended early.
fn interpret(steps: &[Step], x: &mut u32, t: u32) -> bool {
    let bit = |x: u32, at: u32| x >> at & 1 == 1;
    for step in steps {
        let ended = match step {
            Step::Mix(k) => {
                *x = x.wrapping_mul(5).wrapping_add(*k).wrapping_add(t);
                false
            }
            Step::If(at, then, other) => interpret(if bit(*x, *at) { then } else { other }, x, t),
            Step::Loop(at, body, leave) => {
                let mut ended = false;
                for _ in 0..*x >> at & 3 {
                    ended = interpret(body, x, t);
                    if ended || leave.is_some_and(|at| bit(*x, at)) {
                        break;
                    }
                }
                ended
            }
            Step::Switch(at, arms) => interpret(&arms[(*x >> at & 7) as usize], x, t),
            Step::Exit(at) => bit(*x & t >> 1, *at),
        };
        if ended {
            return true;
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn structured_programs_do_what_each_thread_would_alone(program in steps(), seed in any::<u32>()) {
        let mut emit = Emit { ptx: String::new(), labels: 0 };
        emit.steps(&program, 0);
        let ptx = kernel_around(&format!(
            ".reg .b32 %x, %y, %n<20>;\n\
             mul.lo.u32 %x, %t, 0x9e3779b9; xor.b32 %x, %x, {seed};\n{}\n\
             st.global.u32 [%out], %x;",
            emit.ptx
        ));
        let module = Module::parse(&ptx).unwrap();
        let device = Device::default();
        let out = device.upload(&[0u64; 80]);
        device.launch(&module, "k", 1, 80, &[arg(out)]).unwrap();
        for (t, got) in (0..).zip(device.download::<u64>(out, 80)) {
            let mut x = u32::wrapping_mul(t, 0x9e37_79b9) ^ seed;
            interpret(&program, &mut x, t);
            prop_assert_eq!(got as u32, x, "thread {} of\n{}", t, ptx);
        }
    }
}

/// The active mask after `body`, per thread of one warp.
fn masks_after(body: &str) -> Vec<u64> {
    run_body(
        &format!(
            "{body} activemask.b32 %r1; st.global.u32 [%out], %r1; st.global.u32 [%out+4], 0;"
        ),
        32,
    )
}

#[test]
fn policies_and_dependencies_between_launches_change_nothing() {
    let body = "griddepcontrol.launch_dependents; griddepcontrol.wait; cvt.u64.u32 %d1, %t;
         mov.u64 %d2, 0x14F0000000000000; st.global.L2::cache_hint.u64 [%out], %d1, %d2;
         ld.global.L1::no_allocate.L2::cache_hint.L2::128B.v2.u32 {%r1, %r2}, [%out], %d2;
         cp.async.bulk.prefetch.L2.global [%d2], 16; prefetch.global.L2 [%out];
         mad.lo.u32 %r1, %r1, 3, %r2; cvt.u64.u32 %d1, %r1; st.global.u64 [%out], %d1;";
    assert_eq!(run_body(body, 40), (0..40).map(|t| 3 * t).collect::<Vec<_>>());
}

/// What a warp's lanes have in shared memory at three times: `first`, then `second`, are executed before the last two of them. Each of two copies
/// of 3 times the lane's number (32 bits) and a zero waits behind the other.
fn copied(first: &str, second: &str) -> Vec<[u64; 3]> {
    let body = format!(
        "{{ .shared .align 16 .b8 slots[512]; .reg .b32 %at;
         mov.u32 %at, slots; mad.lo.u32 %at, %t, 8, %at; mul.lo.u32 %r1, %t, 3;
         cvt.u64.u32 %d1, %r1; st.global.u64 [%out], %d1; mov.u64 %d2, 7;
         st.shared.u64 [%at], %d2; st.shared.u64 [%at+256], %d2; mov.u64 %d9, 0x14F0000000000000;
         cp.async.ca.shared.global [%at], [%out], 4; cp.async.ca.shared.global [%at+4], [%out+4], 4;
         cp.async.commit_group;
         cp.async.ca.shared::cta.global.L2::cache_hint [%at+256], [%out], 8, %d9;
         ld.shared.u32 %r2, [%at]; ld.shared.u32 %r3, [%at+256]; {first}
         ld.shared.u32 %r4, [%at]; ld.shared.u32 %r5, [%at+256]; {second}
         ld.shared.u32 %r6, [%at]; ld.shared.u32 %r7, [%at+256];
         mad.lo.u32 %r2, %r3, 100, %r2; mad.lo.u32 %r4, %r5, 100, %r4; mad.lo.u32 %r6, %r7, 100, %r6;
         mad.lo.u32 %r2, %r4, 10000, %r2; cvt.u64.u32 %d1, %r2; cvt.u64.u32 %d3, %r6;
         mad.lo.u64 %d1, %d3, 100000000, %d1; st.global.u64 [%out], %d1; }}"
    );
    let times = |all: u64| [all % 10_000, all / 10_000 % 10_000, all / 100_000_000];
    run_body(&body, 32).into_iter().map(times).collect()
}

#[test]
fn copies_land_when_they_are_waited_for() {
    // Of each lane: both slots as they were, or with the first or both copies landed, the second one's times 100.
    let (none, one, both) = (|_| 707, |t: u64| 700 + 3 * t, |t: u64| 303 * t);
    let expected = |second: fn(u64) -> u64, third: fn(u64) -> u64| {
        (0..32).map(|t| [none(t), second(t), third(t)]).collect::<Vec<_>>()
    };
    let commit = "cp.async.commit_group;";
    let wait = |but: u32| format!("cp.async.wait_group {but};");
    assert_eq!(copied(&wait(1), &wait(0)), expected(none, one));
    assert_eq!(copied(&wait(0), "cp.async.wait_all;"), expected(one, both));
    assert_eq!(copied(&format!("{commit} {}", wait(1)), &wait(0)), expected(one, both));
    assert_eq!(copied(commit, &wait(2)), expected(none, none));
    // A lane waits for its own copies alone.
    let some = "setp.lt.u32 %p1, %t, 5; @%p1 bra A; bra B; A: cp.async.wait_all; B:";
    let of_some = (0..32).map(|t| [none(t), if t < 5 { both(t) } else { none(t) }, both(t)]);
    assert_eq!(copied(some, "cp.async.wait_all;"), of_some.collect::<Vec<_>>());
}

#[test]
fn lanes_meet_where_their_paths_do() {
    let everyone = vec![u64::from(u32::MAX); 32];
    for body in [
        "setp.lt.u32 %p1, %t, 7; @%p1 bra A; add.u32 %r2, %t, 1; A:",
        "setp.lt.u32 %p1, %t, 7; @%p1 bra A; add.u32 %r2, %t, 1; bra B; A: add.u32 %r2, %t, 2; B:",
        "mov.u32 %r2, %t; L: sub.u32 %r2, %r2, 1; setp.gt.s32 %p1, %r2, 0; @%p1 bra L;",
        // A bounds check that never fails must not keep lanes apart.
        "setp.lt.u32 %p1, %t, 7; @%p1 bra A; setp.gt.u32 %p2, %t, 99; @%p2 bra TRAP;
         add.u32 %r2, %t, 1; A: bra B; TRAP: trap; B:",
    ] {
        assert_eq!(masks_after(body), everyone, "{body}");
    }
    let inside = run_body(
        "setp.lt.u32 %p1, %t, 7; @%p1 bra A; activemask.b32 %r1; bra B;
         A: activemask.b32 %r1; not.b32 %r1, %r1; B:
         cvt.u64.u32 %d1, %r1; st.global.u64 [%out], %d1;",
        32,
    );
    assert_eq!(inside[0], u64::from(!0x7fu32));
    assert_eq!(inside[7], u64::from(!0x7fu32));
}

#[test]
fn waiting_by_spinning_makes_progress() {
    // Between warps, and between lanes of one warp: each takes a lock in turn.
    let body = "
        { .shared .align 4 .b8 lock[4]; .shared .align 4 .b8 sum[4];
        setp.ne.u32 %p1, %t, 0; @!%p1 st.shared.u32 [lock], 0; @!%p1 st.shared.u32 [sum], 0;
        bar.sync 0;
        TRY: atom.shared.cas.b32 %r1, [lock], 0, 1;
        setp.ne.u32 %p2, %r1, 0; @%p2 bra TRY;
        ld.shared.u32 %r2, [sum]; add.u32 %r2, %r2, %t; st.shared.u32 [sum], %r2;
        atom.shared.exch.b32 %r1, [lock], 0;
        barrier.sync 0;
        ld.shared.u32 %r2, [sum]; cvt.u64.u32 %d1, %r2; st.global.u64 [%out], %d1; }";
    assert_eq!(run_body(body, 70), vec![69 * 70 / 2; 70]);
}

#[test]
fn blocks_may_hand_over_to_later_ones() {
    let ptx = kernel_around(
        "ld.param.u64 %d1, [out]; add.u64 %d1, %d1, 4096;
         WAIT: ld.acquire.gpu.global.u32 %r1, [%d1];
         setp.lt.u32 %p1, %r1, %g; @%p1 bra WAIT;
         add.u32 %r2, %g, 1; st.release.gpu.global.u32 [%d1], %r2;
         st.global.u64 [%out], %d1;",
    );
    let device = Device::default();
    let out = device.upload(&[0u64; 513]);
    device.launch(&Module::parse(&ptx).unwrap(), "k", 500, 1, &[arg(out)]).unwrap();
    assert!(device.download::<u64>(out, 500).iter().all(|v| *v == out + 4096));
}

// Barriers.

#[test]
fn barriers_reduce() {
    let body = "
        rem.u32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %t, 1000; setp.gt.u32 %p3, %t, 1000;
        bar.red.popc.u32 %r2, 0, %p1;
        barrier.red.and.aligned.pred %p4, 1, %p2;
        bar.red.or.pred %p5, 0, %p3;
        bar.red.and.pred %p6, 0, 96, !%p1;
        selp.u32 %r3, 1000, 0, %p4; @%p5 add.u32 %r3, %r3, 10000; @%p6 add.u32 %r3, %r3, 20000;
        add.u32 %r2, %r2, %r3; cvt.u64.u32 %d1, %r2; st.global.u64 [%out], %d1;";
    assert_eq!(run_body(body, 90), vec![1030; 90]);
}

#[test]
fn warps_work_in_turns_through_named_barriers() {
    // Warp 0 produces, warp 1 consumes, ten times over, with two barriers.
    let body = "
        { .shared .align 4 .b8 slot[128];
        .reg .b32 %i, %sum, %at, %v;
        mov.u32 %i, 0; mov.u32 %sum, 0;
        and.b32 %at, %t, 31; mul.lo.u32 %at, %at, 4;
        mov.u32 %v, slot; add.u32 %at, %at, %v;
        setp.lt.u32 %p1, %t, 32; @%p1 bra PRODUCE;
        CONSUME: bar.sync 1, 64; ld.shared.u32 %v, [%at]; add.u32 %sum, %sum, %v; bar.arrive 2, 64;
        add.u32 %i, %i, 1; setp.lt.u32 %p2, %i, 10; @%p2 bra CONSUME; bra DONE;
        PRODUCE: mad.lo.u32 %v, %i, 100, %t; st.shared.u32 [%at], %v; bar.arrive 1, 64; bar.sync 2, 64;
        add.u32 %i, %i, 1; setp.lt.u32 %p2, %i, 10; @%p2 bra PRODUCE;
        DONE: cvt.u64.u32 %d1, %sum; st.global.u64 [%out], %d1; }";
    let sums = run_body(body, 64);
    for lane in 0..32 {
        assert_eq!(sums[32 + lane], 4500 + 10 * lane as u64);
    }
}

#[test]
fn lanes_of_different_paths_meet_at_warp_barriers() {
    let body = "
        { .shared .align 4 .b8 slot[128];
        .reg .b32 %at, %v, %w;
        shl.b32 %at, %t, 2; mov.u32 %v, slot; add.u32 %at, %at, %v; mov.u32 %w, 0;
        setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;
        bar.warp.sync 0xffffffff; ld.shared.u32 %w, [%at+-64]; bra DONE;
        LOW: mad.lo.u32 %v, %t, 3, 1; st.shared.u32 [%at], %v; bar.warp.sync 0xffffffff;
        DONE: cvt.u64.u32 %d1, %w; st.global.u64 [%out], %d1; }";
    let out = run_body(body, 32);
    assert!((16..32).all(|t| out[t] == 3 * (t as u64 - 16) + 1));
}

// Exchanges between lanes.

#[test]
fn shuffles_move_values_between_lanes() {
    let result = |shuffle: &str| {
        run_body(
            &format!(
                "mul.lo.u32 %r1, %t, 100; {shuffle}
                 selp.u32 %r3, 1, 0, %p1; mov.b64 %d1, {{%r2, %r3}}; st.global.u64 [%out], %d1;"
            ),
            32,
        )
    };
    let check = |shuffle: &str, from: fn(u64) -> (u64, bool)| {
        let got = result(shuffle);
        for lane in 0..32 {
            let (source, hit) = from(lane);
            let expected = (source * 100) | (u64::from(hit) << 32);
            assert_eq!(got[lane as usize], expected, "{shuffle} {lane}");
        }
    };
    check("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, -1;", |t| {
        if t < 3 { (t, false) } else { (t - 3, true) }
    });
    check("shfl.sync.down.b32 %r2|%p1, %r1, 5, 31, -1;", |t| {
        if t + 5 > 31 { (t, false) } else { (t + 5, true) }
    });
    check("shfl.sync.bfly.b32 %r2|%p1, %r1, 9, 31, -1;", |t| (t ^ 9, true));
    check("shfl.sync.idx.b32 %r2|%p1, %r1, 6, 0x181f, -1;", |t| (t / 8 * 8 + 6, true));
    // Lanes that arrive on different paths, but ask for each other, are brought together.
    check(
        "setp.lt.u32 %p2, %t, 4; @%p2 bra A; add.u32 %r5, %r5, 1; A: shfl.sync.idx.b32 %r2|%p1, %r1, 1, 31, -1;",
        |_| (1, true),
    );
}

#[test]
fn lanes_that_never_reconverge_still_meet_where_they_wait_for_each_other() {
    // The early way out keeps the two sides apart until the end of the kernel.
    let body = "
        setp.lt.u32 %p1, %t, 16; @!%p1 bra MEET;
        setp.eq.u32 %p2, %t, 99; @%p2 bra END;
        MEET: shfl.sync.idx.b32 %r1, %t, 20, 31, -1;
        activemask.b32 %r2; mov.b64 %d1, {%r1, %r2}; st.global.u64 [%out], %d1;
        END:";
    assert_eq!(run_body(body, 32), vec![0xffff_ffff_0000_0014; 32]);
}

#[test]
fn votes_and_matches() {
    let body = "
        setp.lt.u32 %p1, %t, 5;
        vote.sync.ballot.b32 %r1, %p1, -1;
        vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1; vote.sync.uni.pred %p4, !%p1, -1;
        selp.u32 %r2, 1, 0, %p2; @%p3 add.u32 %r2, %r2, 2; @%p4 add.u32 %r2, %r2, 4;
        mov.b64 %d1, {%r1, %r2}; st.global.u64 [%out], %d1;";
    assert_eq!(run_body(body, 32), vec![0x2_0000_001f; 32]);
    let body = "
        shr.u32 %r1, %t, 3; cvt.u64.u32 %d2, %r1;
        match.any.sync.b64 %r2, %d2, -1;
        match.all.sync.b32 %r3|%p1, 7, -1; match.all.sync.b32 %r4|%p2, %t, -1;
        selp.u32 %r5, 1, 0, %p1; @%p2 add.u32 %r5, %r5, 2; sub.u32 %r3, %r3, %r4; add.u32 %r5, %r5, %r3;
        mov.b64 %d1, {%r2, %r5}; st.global.u64 [%out], %d1;";
    let got = run_body(body, 32);
    assert!((0..32).all(|t| got[t] == 0xff << (t / 8 * 8)), "{got:x?}");
    let body = "
        add.u32 %r1, %t, 1; sub.u32 %r2, 10, %t;
        redux.sync.add.u32 %r3, %r1, -1; redux.sync.min.s32 %r4, %r2, -1;
        mov.b64 %d1, {%r3, %r4}; st.global.u64 [%out], %d1;";
    assert_eq!(run_body(body, 32), vec![u64::from(-21i32 as u32) << 32 | 528; 32]);
}

// Special registers, shapes of launches.

#[test]
fn threads_and_blocks_know_their_place() {
    let ptx = format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{
         .reg .b32 %r<30>; .reg .b64 %d<5>;
         mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
         mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
         mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %ntid.z;
         mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y;
         mad.lo.u32 %r12, %r6, %r11, %r5; mad.lo.u32 %r12, %r12, %r10, %r4;   // block
         mad.lo.u32 %r13, %r12, %r9, %r3; mad.lo.u32 %r13, %r13, %r8, %r2;
         mad.lo.u32 %r13, %r13, %r7, %r1;                                     // thread
         ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %r13, 16, %d1;
         mov.u32 %r14, %laneid; mov.u32 %r15, %warpid; mov.u32 %r16, %lanemask_le; mov.u32 %r17, WARP_SZ+1;
         st.global.v4.u32 [%d1], {{%r14, %r15, %r16, %r17}};
         }}"
    );
    let device = Device::default();
    let threads = 2 * 3 * 2 * 5 * 4 * 3;
    let out = device.upload(&vec![[0u32; 4]; threads]);
    let config = LaunchConfig { grid: [2, 3, 2], block: [5, 4, 3], dynamic_shared_bytes: 0 };
    let module = Module::parse(&ptx).unwrap();
    device.launch_config(&module, "k", config, &[arg(out)]).unwrap();
    for (at, got) in (0..).zip(device.download::<[u32; 4]>(out, threads)) {
        let (lane, warp) = (at % 60 % 32, at % 60 / 32);
        assert_eq!(got, [lane, warp, u32::MAX >> (31 - lane), 33]);
    }
}

#[test]
fn shared_variables_are_placed_and_counted() {
    let ptx = format!(
        "{HEAD}
         .shared .align 4 .b8 unused[1000];
         .shared .align 8 .b64 used;
         .extern .shared .align 16 .b8 dynamic[];
         .visible .entry k(.param .u64 out)\n{{
         .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .b8 byte;
         {{ .shared .align 32 .b8 inner[20]; mov.u32 %r1, inner; }}
         {{ .shared .align 32 .b8 inner[20]; mov.u32 %r2, inner; }}
         mov.u32 %r3, byte; mov.u32 %r4, used; mov.u32 %r5, dynamic;
         mov.u32 %r6, %dynamic_smem_size; mov.u32 %r7, %total_smem_size; mov.u32 %r8, inner_of_nobody;
         ld.param.u64 %d1, [out]; st.global.v4.u32 [%d1], {{%r1, %r2, %r3, %r4}};
         st.global.v4.u32 [%d1+16], {{%r5, %r6, %r7, 0}};
         }}
         .visible .entry plain() {{ ret; }}"
    );
    let module = Module::parse(&ptx).unwrap();
    let error = module.kernel("k").unwrap_err().to_string();
    assert!(error.contains("`inner_of_nobody` is not declared"), "{error}");
    assert_eq!(module.kernel("plain").unwrap().static_shared_bytes(), 0);
    let module = Module::parse(&ptx.replace("inner_of_nobody", "used")).unwrap();
    let kernel = module.kernel("k").unwrap();
    assert_eq!(kernel.static_shared_bytes(), 64);
    assert!(kernel.uses_dynamic_shared());
    let device = Device::default();
    let out = device.upload(&[0u32; 8]);
    let config = LaunchConfig { grid: [1; 3], block: [1; 3], dynamic_shared_bytes: 100 };
    device.launch_config(&module, "k", config, &[arg(out)]).unwrap();
    assert_eq!(device.download::<u32>(out, 8), [0, 32, 52, 56, 64, 100, 256, 0]);
}

#[test]
fn a_huge_grid_costs_nothing_up_front() {
    let module = Module::parse(&kernel_around("trap;")).unwrap();
    let device = Device::default();
    let config =
        LaunchConfig { grid: [0x7fff_ffff, 65535, 65535], block: [1; 3], dynamic_shared_bytes: 0 };
    let out = device.upload(&[0u64]);
    assert!(device.launch_config(&module, "k", config, &[arg(out)]).is_err());
}

#[test]
fn progress_is_told() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let most = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&most);
    let progress = simt::Progress::new(move |done, total| {
        assert!(done <= total && total == 1000);
        seen.fetch_max(done, Ordering::Relaxed);
    });
    let options = Options::default().progress(progress);
    let device = Device { options, ..Device::default() };
    let out = device.upload(&[0u64]);
    device
        .launch(&Module::parse(&kernel_around("ret;")).unwrap(), "k", 1000, 1, &[arg(out)])
        .unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 1000);
}

// Memory.

/// Loads with `load` from `bytes` and stores `%d1` to `%d4`.
fn loaded(space: &str, load: &str, thread_stride: u32) -> Vec<u64> {
    // 32 threads; each copies its part of the input to shared memory first, if that is asked for.
    let at = match space {
        "global" => "cvt.u64.u32 %d10, %r10; add.u64 %d10, %d10, %d9;".to_owned(),
        "shared" => "add.u32 %r10, %r10, %r11;".to_owned(),
        "generic shared" => {
            "add.u32 %r10, %r10, %r11; cvt.u64.u32 %d10, %r10; cvta.shared.u64 %d10, %d10;"
                .to_owned()
        }
        _ => unreachable!(),
    };
    let base = if space == "shared" { "%r10" } else { "%d10" };
    let space = match space {
        "generic shared" => "",
        "shared" => ".shared",
        _ => ".global",
    };
    let load = load.replace("SPACE", space).replace("AT", base);
    let ptx = kernel_around(&format!(
        "{{ .shared .align 16 .b8 buffer[1024]; mov.u32 %r11, buffer;
         ld.param.u64 %d9, [out]; add.u64 %d9, %d9, 1024;
         shl.b32 %r12, %t, 5; cvt.u64.u32 %d8, %r12; add.u64 %d8, %d8, %d9; add.u32 %r13, %r12, %r11;
         ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%d8]; st.shared.v4.b32 [%r13], {{%r1, %r2, %r3, %r4}};
         ld.global.v2.u64 {{%d1, %d2}}, [%d8+16]; st.shared.v2.b64 [%r13+16], {{%d1, %d2}};
         bar.sync 0;
         mul.lo.u32 %r10, %t, {thread_stride}; {at}
         mov.u64 %d1, 0; mov.u64 %d2, 0; mov.u64 %d3, 0; mov.u64 %d4, 0;
         {load}
         ld.param.u64 %out, [out]; mad.wide.u32 %out, %t, 32, %out;
         st.global.v2.u64 [%out], {{%d1, %d2}}; st.global.v2.u64 [%out+16], {{%d3, %d4}}; }}"
    ));
    let device = Device::default();
    let out = device.upload(&vec![0u8; 2048]);
    let data: Vec<u8> = (0..1024u32).map(|at| (at * 197 % 256) as u8).collect();
    device.memory.write(out + 1024, &data).unwrap();
    let module = Module::parse(&ptx).unwrap();
    device.launch(&module, "k", 1, 32, &[arg(out)]).unwrap();
    device.download(out, 128)
}

#[test]
fn loads_of_every_width_and_space() {
    let byte = |at: usize| (at as u64) * 197 % 256;
    let value = |at: usize, bytes: usize| (0..bytes).fold(0, |v, k| v | byte(at + k) << (8 * k));
    // Instruction, bytes per element, elements, sign-extended.
    let cases = [
        ("ldSPACE.u8 %d1, [AT];", 1, 1, false),
        ("ldSPACE.s8 %d1, [AT+0];", 1, 1, true),
        ("ldSPACE.u16 %d1, [AT];", 2, 1, false),
        ("ldSPACE.s16 %d1, [AT];", 2, 1, true),
        ("ldSPACE.b32 %r1, [AT]; cvt.u64.u32 %d1, %r1;", 4, 1, false),
        ("ldSPACE.s32 %d1, [AT];", 4, 1, true),
        ("ldSPACE.b64 %d1, [AT];", 8, 1, false),
        ("ldSPACE.b128 %q1, [AT]; mov.b128 {%d1, %d2}, %q1;", 8, 2, false),
        ("ldSPACE.v2.u8 {%d1, %d2}, [AT];", 1, 2, false),
        ("ldSPACE.v4.s8 {%d1, %d2, %d3, %d4}, [AT];", 1, 4, true),
        ("ldSPACE.v4.u16 {%d1, %d2, %d3, %d4}, [AT];", 2, 4, false),
        ("ldSPACE.v2.s32 {%d1, %d2}, [AT];", 4, 2, true),
        (
            "ldSPACE.v4.b32 {%r1, %r2, %r3, %r4}, [AT]; cvt.u64.u32 %d1, %r1; cvt.u64.u32 %d2, %r2; cvt.u64.u32 %d3, %r3; cvt.u64.u32 %d4, %r4;",
            4,
            4,
            false,
        ),
        ("ldSPACE.v2.b64 {%d1, %d2}, [AT];", 8, 2, false),
        ("ldSPACE.s8 %h1, [AT]; cvt.u64.u16 %d1, %h1; cvt.s64.s16 %d1, %d1;", 1, 1, true),
        (
            "ldSPACE.v4.b32 {_, %r2, _, _}, [AT]; cvt.u64.u32 %d2, %r2; ldSPACE.u32 %d1, [AT]; ldSPACE.u32 %d3, [AT+8]; ldSPACE.u32 %d4, [AT+12];",
            4,
            4,
            false,
        ),
    ];
    for space in ["global", "shared", "generic shared"] {
        for (load, bytes, elements, signed) in cases {
            let stride = bytes * elements;
            let got = loaded(space, load, stride as u32);
            for t in 0..32 {
                for element in 0..4 {
                    let raw = value(t * stride + element * bytes, bytes);
                    let spare = 64 - 8 * bytes as u32;
                    let value = if signed { ((raw << spare) as i64 >> spare) as u64 } else { raw };
                    let expected = if element < elements { value } else { 0 };
                    assert_eq!(
                        got[4 * t + element],
                        expected,
                        "{space} {load} thread {t} element {element}"
                    );
                }
            }
        }
    }
}

#[test]
fn stores_of_every_width_and_space() {
    let cases: [(&str, usize); 10] = [
        ("stSPACE.u8 [AT], %d1;", 1),
        ("stSPACE.b8 [AT], %h1;", 1),
        ("stSPACE.u16 [AT], %h1;", 2),
        ("stSPACE.v2.u8 [AT], {%d1, %d2};", 2),
        ("stSPACE.v4.u8 [AT], {%d1, %d2, %d3, %d4};", 4),
        ("stSPACE.b32 [AT], %r1;", 4),
        ("stSPACE.v4.b16 [AT], {%h1, %h2, %h3, %h4};", 8),
        ("stSPACE.cs.b64 [AT], %d1;", 8),
        ("stSPACE.v4.b32 [AT], {%r1, %r2, %r3, %r4};", 16),
        ("mov.b128 %q1, {%d1, %d2}; stSPACE.b128 [AT], %q1;", 16),
    ];
    for space in ["global", "shared", "generic shared", "generic global"] {
        for (store, bytes) in cases {
            let (base, name) = match space {
                "shared" => ("%r10", ".shared"),
                "global" => ("%d10", ".global"),
                _ => ("%d10", ""),
            };
            let address = match space {
                "shared" => "add.u32 %r10, %r10, %r11;",
                "generic shared" => {
                    "add.u32 %r10, %r10, %r11; cvt.u64.u32 %d10, %r10; cvta.shared.u64 %d10, %d10;"
                }
                _ => "cvt.u64.u32 %d10, %r10; add.u64 %d10, %d10, %d9;",
            };
            let copy_out = if space.ends_with("shared") {
                "shl.b32 %r12, %t, 4; cvt.u64.u32 %d8, %r12; add.u64 %d8, %d8, %d9; add.u32 %r13, %r12, %r11;
                 bar.sync 0; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r13]; st.global.v4.b32 [%d8], {%r1, %r2, %r3, %r4};"
            } else {
                ""
            };
            let store = store.replace("SPACE", name).replace("AT", base);
            let set = |k: u64| {
                format!(
                    "mul.wide.u32 %d{k}, %t, {}; add.u64 %d{k}, %d{k}, 0x9e3779b97f4a7c1{k};
                     cvt.u32.u64 %r{k}, %d{k}; cvt.u16.u64 %h{k}, %d{k};",
                    k * 0x0123_4567
                )
            };
            // Every other thread stores backwards, so that neighbours share no exchange.
            let ptx = kernel_around(&format!(
                "{{ .shared .align 16 .b8 buffer[512]; mov.u32 %r11, buffer;
                 ld.param.u64 %d9, [out]; shl.b32 %r12, %t, 4; add.u32 %r13, %r12, %r11;
                 st.shared.v4.u32 [%r13], {{-1, -1, -1, -1}}; bar.sync 0;
                 {} {} {} {}
                 and.b32 %r14, %t, 1; mad.lo.u32 %r14, %r14, 30, %t; rem.u32 %r14, %r14, 32;
                 mul.lo.u32 %r10, %r14, {bytes}; {address} {store} {copy_out} }}",
                set(1),
                set(2),
                set(3),
                set(4)
            ));
            let device = Device::default();
            let out = device.upload(&[0xffu8; 512]);
            let module = Module::parse(&ptx).unwrap();
            device.launch(&module, "k", 1, 32, &[arg(out)]).unwrap();
            let mut expected = [0xffu8; 512];
            for t in 0..32u64 {
                let value = |k: u64| {
                    (t * k * 0x0123_4567).wrapping_add(0x9e37_79b9_7f4a_7c10 + k).to_le_bytes()
                };
                let elements = (store.matches('%').count() - 1).clamp(1, 4) as u64;
                let parts = if store.contains("b128") {
                    2
                } else if store.contains(".v") {
                    elements
                } else {
                    1
                };
                let each = bytes / parts as usize;
                let data: Vec<u8> = (1..=parts).flat_map(|k| value(k)[..each].to_vec()).collect();
                let place = ((t % 2 * 30 + t) % 32) as usize * bytes;
                expected[place..place + bytes].copy_from_slice(&data);
            }
            assert_eq!(device.download::<u8>(out, 512), expected, "{space} {store}");
        }
    }
}

#[test]
fn atomics_on_both_memories() {
    // Operation, its effect on an old value, type; the operand is `t + 3`.
    type Apply = fn(u64, u64) -> u64;
    let cases: [(&str, &str, Apply); 14] = [
        ("add", "u32", |old, b| (old as u32).wrapping_add(b as u32).into()),
        ("add", "u64", |old, b| old.wrapping_add(b)),
        ("and", "b32", |old, b| old & b),
        ("or", "b64", |old, b| old | b),
        ("xor", "b32", |old, b| old ^ b),
        ("exch", "b64", |_, b| b),
        ("min", "u32", |old, b| old.min(b)),
        ("max", "u64", |old, b| old.max(b)),
        ("min", "s32", |old, b| (old as i32).min(b as i32) as u32 as u64),
        ("max", "s64", |old, b| (old as i64).max(b as i64) as u64),
        ("inc", "u32", |old, b| if old >= b { 0 } else { old + 1 }),
        ("dec", "u32", |old, b| if old == 0 || old > b { b } else { old - 1 }),
        ("add", "f32", |old, b| {
            (f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits().into()
        }),
        ("cas", "b32", |old, b| if old == b { 77 } else { old }),
    ];
    for (name, kind, apply) in cases {
        for space in ["global", "shared", ""] {
            let wide = kind.ends_with("64");
            let (old, b) = if wide { ("%d1", "%d2") } else { ("%r1", "%r2") };
            let third = if name == "cas" { ", 77" } else { "" };
            let address = match space {
                "shared" => "slot",
                "" => "%d4",
                _ => "%d3",
            };
            let dot = if space.is_empty() { String::new() } else { format!(".{space}") };
            let body = format!(
                "{{ .shared .align 8 .b8 slot[8]; ld.param.u64 %d3, [out]; add.u64 %d3, %d3, 512;
                 mov.u64 %d4, slot; cvta.shared.u64 %d4, %d4;
                 mov.u64 %d5, 9; st.shared.u64 [slot], %d5; st.global.u64 [%d3], %d5;
                 add.u32 %r2, %t, 3; cvt.u64.u32 %d2, %r2;
                 atom.relaxed.gpu{dot}.{name}.{kind} {old}, [{address}], {b}{third};
                 {} st.global.u64 [%out], %d1; }}",
                if wide { "" } else { "cvt.u64.u32 %d1, %r1;" }
            );
            let device = Device::default();
            let out = device.upload(&[0u64; 65]);
            let module = Module::parse(&kernel_around(&body)).unwrap();
            device.launch(&module, "k", 1, 32, &[arg(out)]).unwrap();
            let mut value = 9;
            for (t, got) in (0..32).zip(device.download::<u64>(out, 32)) {
                assert_eq!(got, value, "{space} {name}.{kind} lane {t}");
                // As numbers of single precision these are below the normal ones, which count as zero in global memory.
                let flushed = kind == "f32" && space == "global";
                value = if flushed { 0 } else { apply(value, t + 3) };
            }
        }
    }
}

#[test]
fn atomics_of_many_blocks_add_up() {
    for (kind, register) in [("u32", "%r1"), ("u64", "%d1")] {
        let body = format!(
            "ld.param.u64 %d2, [out]; mov.u32 %r1, 3; mov.u64 %d1, 0x100000003;
             red.global.add.{kind} [%d2], {register}; atom.global.add.{kind} {register}, [%d2], {register};"
        );
        let device = Device::default();
        let out = device.upload(&[0u64; 2]);
        let module = Module::parse(&kernel_around(&body)).unwrap();
        device.launch(&module, "k", 300, 64, &[arg(out)]).unwrap();
        let each = if kind == "u32" { 3 } else { 0x1_0000_0003u64 };
        assert_eq!(device.download::<u64>(out, 1), [300 * 64 * 2 * each]);
    }
}

#[test]
fn racing_stores_leave_one_of_the_values() {
    let body = "ld.param.u64 %d2, [out]; st.global.u32 [%d2], %g; cvt.u16.u32 %h1, %g; st.global.u8 [%d2+9], %h1;";
    let device = Device::default();
    let out = device.upload(&[0u64; 2]);
    let module = Module::parse(&kernel_around(body)).unwrap();
    device.launch(&module, "k", 300, 64, &[arg(out)]).unwrap();
    assert!(device.download::<u32>(out, 1)[0] < 300 * 64);
    let neighbours = device.download::<u8>(out + 8, 8);
    assert!(neighbours.iter().enumerate().all(|(at, byte)| at == 1 || *byte == 0));
}

#[test]
fn predicated_code_runs_for_the_lanes_it_names() {
    let body = "
        and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; mov.u64 %d1, 5;
        @%p1 mov.u64 %d1, 6; @!%p1 add.u64 %d1, %d1, %d1; @%p1 st.global.u64 [%out], %d1; @%p1 exit;
        add.u64 %d1, %d1, 1; st.global.u64 [%out], %d1;";
    let got = run_body(body, 50);
    assert!((0..50).all(|t| got[t] == if t % 2 == 0 { 6 } else { 11 }));
}

#[test]
fn registers_nobody_wrote_read_as_zero_in_every_block() {
    // Written behind the place where they are read.
    let ptx = kernel_around(
        "setp.eq.u32 %p8, %t, 99; @%p8 mov.u32 %r8, 1;
         cvt.u64.u32 %d1, %r7; add.u64 %d1, %d1, %d7; @%p7 add.u64 %d1, %d1, 1;
         cvt.u64.u32 %d2, %r8; add.u64 %d1, %d1, %d2; mov.u32 %r8, 1;
         st.global.u64 [%out], %d1;
         mov.u32 %r7, 1; mov.u64 %d7, 1; setp.eq.u32 %p7, %r7, 1;",
    );
    let device = Device::default();
    let out = device.upload(&[9u64; 640]);
    device.launch(&Module::parse(&ptx).unwrap(), "k", 20, 32, &[arg(out)]).unwrap();
    assert_eq!(device.download::<u64>(out, 640), [0; 640]);
}

#[test]
fn counting_changes_no_result() {
    let module =
        Module::parse(&kernel_around("mul.wide.u32 %d1, %g, 7; st.global.u64 [%out], %d1;"));
    let module = module.unwrap();
    let options = Options::default().counters(CounterOptions::default());
    let device = Device { options, ..Device::default() };
    let out = device.upload(&[0u64; 1000]);
    let report = device.launch(&module, "k", 10, 100, &[arg(out)]).unwrap();
    assert!(device.download::<u64>(out, 1000).iter().zip(0..).all(|(v, g)| *v == 7 * g));
    assert_eq!(report.blocks, 10);
}

//! Litmus tests: small programs of a few threads whose results tell what order memory keeps.
//!
//! A test has *roles*, one thread each, and an *outcome in question*: one that no interleaving of the roles gives. The memory model of the
//! PTX ISA allows it or forbids it. One kernel runs many *instances* of a test side by side, each on locations of its own.

use std::collections::BTreeMap;

use simt::{Error, Finding, LaunchConfig, Memory, Module, Options};

/// Where the threads of an instance are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In different blocks.
    Blocks,
    /// In different warps of a block.
    Warps,
    /// In different warps of a block, and the locations in its shared memory.
    Shared,
}

/// What a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The model allows the outcome in question.
    Allowed,
    /// The model forbids it.
    Forbidden,
}

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    /// The shape and what is between the accesses.
    pub name: String,
    /// Where the threads are.
    pub place: Place,
    /// What each thread does: PTX with `{x}`, `{y}`, `{z}` for locations of 32 bits, at first 0, `{s}` for their space, and `%r0` to `%r3` for results.
    pub roles: Vec<String>,
    /// The outcome in question: results and what the locations hold in the end, as `r0=1 r1=0 x=2`.
    pub question: &'static str,
    /// What the model says of it.
    pub verdict: Verdict,
}

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Words of an instance's result: `%r0` to `%r3`, then what `x`, `y`, `z` hold in the end, and one that means nothing.
pub const WORDS: usize = 8;
const NAMES: [&str; 7] = ["r0", "r1", "r2", "r3", "x", "y", "z"];

/// How often each outcome was seen.
pub type Outcomes = BTreeMap<[u32; 7], u64>;

impl Test {
    /// The name of the test and its place.
    pub fn title(&self) -> String {
        format!("{} {:?}", self.name, self.place)
    }

    /// Whether an outcome is the one in question.
    pub fn is_in_question(&self, outcome: &[u32; 7]) -> bool {
        self.question.split(' ').all(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let at = NAMES.iter().position(|known| *known == name);
            at.is_some_and(|at| value.parse() == Ok(outcome[at]))
        })
    }

    /// Blocks that play one group of instances together.
    pub fn blocks(&self) -> u32 {
        if self.place == Place::Blocks { self.roles.len() as u32 } else { 1 }
    }

    /// Instances that a group plays in a round.
    pub fn instances(&self, block: u32) -> u32 {
        if self.place == Place::Blocks { block } else { block / 32 / self.roles.len() as u32 * 32 }
    }

    /// The outcome of one instance from its words.
    pub fn outcome(words: &[u32]) -> [u32; 7] {
        std::array::from_fn(|at| words[at])
    }

    /// Plays the test on the simulator: `rounds` rounds of one group of small blocks.
    ///
    /// # Errors
    /// What the simulator refuses or stops.
    pub fn simulate(
        &self,
        kernels: &Module,
        rounds: u32,
        options: &Options,
    ) -> Result<Vec<[u32; 7]>, Error> {
        self.play(kernels, rounds, options).map(|(outcomes, _)| outcomes)
    }

    /// What the simulator's checks find.
    ///
    /// # Errors
    /// What the simulator refuses or stops.
    pub fn findings(&self, kernels: &Module, options: &Options) -> Result<Vec<Finding>, Error> {
        self.play(kernels, 1, options).map(|(_, findings)| findings)
    }

    fn play(
        &self,
        kernels: &Module,
        rounds: u32,
        options: &Options,
    ) -> Result<(Vec<[u32; 7]>, Vec<Finding>), Error> {
        let threads = if self.place == Place::Blocks { 1 } else { 32 * self.roles.len() as u32 };
        let total = self.instances(threads) * rounds;
        let memory = Memory::new(1 << 24);
        let data = memory.alloc(12 * u64::from(total))?;
        let results = memory.alloc(4 * WORDS as u64 * u64::from(total))?;
        memory.fill(data, 0, 12 * u64::from(total))?;
        let arguments =
            [data, results, 0, 4, u64::from(total), u64::from(rounds), 0].map(u64::to_le_bytes);
        let arguments: Vec<&[u8]> = arguments.iter().map(|bytes| &bytes[..]).collect();
        let config = |grid, threads| LaunchConfig {
            grid: [grid, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared_bytes: 0,
        };
        let litmus = kernels.kernel("litmus")?;
        let report =
            litmus.launch(&memory, &config(self.blocks(), threads), &arguments, options)?;
        if self.place != Place::Shared {
            let config = config(total.div_ceil(BLOCK), BLOCK);
            kernels.kernel("finish")?.launch(&memory, &config, &arguments, &Options::default())?;
        }
        let mut words = vec![0; 4 * WORDS * total as usize];
        memory.read(results, &mut words)?;
        let words: Vec<u32> =
            words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let outcomes = words.chunks_exact(WORDS).map(Test::outcome).collect();
        Ok((outcomes, report.findings))
    }

    /// The module: `litmus` plays the roles, `finish` notes what memory holds in the end.
    ///
    /// The arguments, 64 bits each: the locations, the results, a counter for each group and round (or 0, for threads not to
    /// wait for each other at all), bytes from one instance's location to the next's, all instances, rounds, and a seed.
    pub fn ptx(&self) -> String {
        let count = self.roles.len();
        let shared = self.place == Place::Shared;
        let space = if shared { "shared" } else { "global" };
        let locate = if self.place == Place::Blocks {
            format!(
                "div.u32 %group, %cta, {count};\nrem.u32 %role, %cta, {count};\n\
                 div.u32 %groups, %ctas, {count};\nmov.u32 %width, %threads;\n\
                 shl.b32 %t, %role, 2;\nadd.u32 %t, %t, 1;\nmad.lo.u32 %lane, %thread, %t, %role;\n\
                 sub.u32 %t, %width, 1;\nand.b32 %lane, %lane, %t;\n"
            )
        } else {
            format!(
                "shr.u32 %t, %thread, 5;\nrem.u32 %role, %t, {count};\ndiv.u32 %t, %t, {count};\n\
                 shr.u32 %width, %threads, 5;\ndiv.u32 %width, %width, {count};\nmul.lo.u32 %groups, %ctas, %width;\n\
                 mad.lo.u32 %group, %cta, %width, %t;\nmov.u32 %width, 32;\nand.b32 %lane, %thread, 31;\n"
            )
        };
        let mut roles = String::new();
        for (at, role) in self.roles.iter().enumerate() {
            let body = role
                .replace("{s}", space)
                .replace("{x}", "[%x]")
                .replace("{y}", "[%y]")
                .replace("{z}", "[%z]");
            roles += &format!("ROLE{at}:\n{body}\n{}bra PLAYED;\n", store_results(&body));
        }
        let choose: String = (1..count)
            .map(|at| format!("setp.eq.u32 %p, %role, {at};\n@%p bra ROLE{at};\n"))
            .collect();
        let clear = if shared {
            "bar.sync 0;\nsetp.ne.u32 %p, %role, 0;\n@%p bra CLEARED;\nst.shared.u32 [%x], 0;\nst.shared.u32 [%y], 0;\n\
             st.shared.u32 [%z], 0;\nCLEARED:\nbar.sync 0;\n"
        } else {
            ""
        };
        let x = if shared { "b32" } else { "b64" };
        let addresses = if shared { SHARED_ADDRESSES } else { GLOBAL_ADDRESSES };
        format!(
            "{HEAD}.visible .entry litmus({PARAMETERS})\n{{\n{REGISTERS}.reg .{x} %x, %y, %z;\n\
             .shared .align 4 .b8 place[{}];\n{LOAD}{locate}mov.u32 %round, 0;\n\
             ROUND:\n{INSTANCE}{addresses}{clear}{RENDEZVOUS}{DELAY}\
             mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n\
             {choose}{roles}PLAYED:\nadd.u32 %round, %round, 1;\nsetp.lt.u32 %p, %round, %rounds;\n@%p bra ROUND;\nret;\n}}\n\
             .visible .entry finish({PARAMETERS})\n{{\n{REGISTERS}.reg .b64 %x, %y, %z;\n{LOAD}\
             mad.lo.u32 %inst, %cta, %threads, %thread;\nsetp.ge.u32 %p, %inst, %total;\n@%p ret;\n\
             mad.wide.u32 %to, %inst, {}, %results;\n{GLOBAL_ADDRESSES}\
             ld.global.u32 %t, [%x];\nst.global.u32 [%to+16], %t;\nld.global.u32 %t, [%y];\nst.global.u32 [%to+20], %t;\n\
             ld.global.u32 %t, [%z];\nst.global.u32 [%to+24], %t;\nret;\n}}\n",
            12 * BLOCK,
            4 * WORDS
        )
    }
}

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
const PARAMETERS: &str = ".param .u64 data, .param .u64 results, .param .u64 sync, .param .u64 stride, .param .u64 total, .param .u64 rounds, .param .u64 seed";
const REGISTERS: &str = ".reg .pred %p, %done; .reg .b32 %r<8>;\n\
    .reg .b32 %t, %u, %group, %groups, %role, %width, %lane, %round, %rounds, %total, %inst, %stride, %seed, %want, %cta, %ctas, %thread, %threads;\n\
    .reg .b64 %data, %results, %sync, %to, %at, %all;\n";
const LOAD: &str = "ld.param.u64 %data, [data];\nld.param.u64 %results, [results];\nld.param.u64 %sync, [sync];\n\
    ld.param.u64 %at, [stride];\ncvt.u32.u64 %stride, %at;\nld.param.u64 %at, [total];\ncvt.u32.u64 %total, %at;\n\
    ld.param.u64 %at, [rounds];\ncvt.u32.u64 %rounds, %at;\nld.param.u64 %at, [seed];\ncvt.u32.u64 %seed, %at;\n\
    mov.u32 %cta, %ctaid.x;\nmov.u32 %ctas, %nctaid.x;\nmov.u32 %thread, %tid.x;\nmov.u32 %threads, %ntid.x;\n";
/// The number of this thread's instance, and where its results go.
const INSTANCE: &str = "mad.lo.u32 %inst, %round, %groups, %group;\nmad.lo.u32 %inst, %inst, %width, %lane;\nmad.wide.u32 %to, %inst, 32, %results;\n";
const GLOBAL_ADDRESSES: &str = "mad.wide.u32 %x, %inst, %stride, %data;\nmul.wide.u32 %all, %total, %stride;\nadd.u64 %y, %x, %all;\nadd.u64 %z, %y, %all;\n";
/// The group's part of a block's array: each instance has three words, which two or more threads name alike.
const SHARED_ADDRESSES: &str = "mov.u32 %x, place;\nrem.u32 %t, %group, 4;\nmad.lo.u32 %t, %t, 32, %lane;\nmad.lo.u32 %x, %t, 4, %x;\nadd.u32 %y, %x, 1024;\nadd.u32 %z, %x, 2048;\n";
/// Waits until all blocks of the group are here. It orders nothing: the accesses are relaxed.
const RENDEZVOUS: &str = "setp.eq.u64 %p, %sync, 0;\n@%p bra MET;\nbar.sync 0;\n\
    setp.ne.u32 %p, %thread, 0;\n@%p bra WAIT;\n\
    red.relaxed.gpu.global.add.u32 [%sync], 1;\n\
    WAIT:\nadd.u32 %want, %round, 1;\nmul.lo.u32 %want, %want, %ctas;\n\
    SPIN:\nld.relaxed.gpu.global.u32 %t, [%sync];\nsetp.lt.u32 %p, %t, %want;\n@%p bra SPIN;\nMET:\n";
/// Waits a little, by a number that differs from thread to thread. What it counts is stored for hardly anybody, so that it is counted.
const DELAY: &str = "mad.lo.u32 %t, %inst, 0x9e3779b1, %seed;\nmad.lo.u32 %t, %role, 0x85ebca6b, %t;\nshr.u32 %u, %t, 15;\nxor.b32 %t, %t, %u;\n\
    mul.lo.u32 %t, %t, 0x2c1b3c6d;\nshr.u32 %u, %t, 24;\nand.b32 %u, %u, %seed;\n\
    LATER:\nsetp.eq.u32 %p, %u, 0;\n@%p bra NOW;\nmad.lo.u32 %t, %t, 0x343fd, 0x269ec3;\nsub.u32 %u, %u, 1;\nbra LATER;\n\
    NOW:\nsetp.eq.u32 %p, %t, 0x12345678;\n@%p st.global.u32 [%to+28], %t;\n";

/// Stores the results that a role names.
fn store_results(body: &str) -> String {
    let stores = (0..4).filter(|at| body.contains(&format!("%r{at}")));
    stores.map(|at| format!("st.global.u32 [%to+{}], %r{at};\n", 4 * at)).collect()
}

/// All tests.
pub fn all() -> Vec<Test> {
    use Place::*;
    use Verdict::*;
    let mut tests = Vec::new();
    let mut add = |name: &str, place, roles: &[String], question, verdict| {
        tests.push(Test { name: name.to_owned(), place, roles: roles.to_vec(), question, verdict });
    };
    for place in [Blocks, Warps, Shared] {
        let apart = place == Blocks;
        let across = if apart { Allowed } else { Forbidden };
        let relaxed = if apart { "relaxed.gpu" } else { "relaxed.cta" };
        let st = |at: &str, value: &str| format!("st.{relaxed}.{{s}}.u32 {{{at}}}, {value};");
        let ld = |r: &str, at: &str| format!("ld.{relaxed}.{{s}}.u32 %{r}, {{{at}}};");
        let join = |parts: &[&str]| parts.join("\n");
        // Two stores and two loads of the kinds given, with fences between them.
        let mp = |first: &str, between: &str, flag: &str, test: &str, after: &str, second: &str| {
            [join(&[first, between, flag]), join(&[test, after, second])]
        };
        let (wx, wy, ry, rx) = (st("x", "1"), st("y", "1"), ld("r0", "y"), ld("r1", "x"));
        let stale = "r0=1 r1=0";
        add("MP relaxed", place, &mp(&wx, "", &wy, &ry, "", &rx), stale, Allowed);
        let (pwx, prx) = ("st.{s}.u32 {x}, 1;", "ld.{s}.u32 %r1, {x};");
        let (pwy, pry) = ("st.{s}.u32 {y}, 1;", "ld.{s}.u32 %r0, {y};");
        add("MP weak", place, &mp(pwx, "", pwy, pry, "", prx), stale, Allowed);
        let (vwx, vrx) = ("st.volatile.{s}.u32 {x}, 1;", "ld.volatile.{s}.u32 %r1, {x};");
        let (vwy, vry) = ("st.volatile.{s}.u32 {y}, 1;", "ld.volatile.{s}.u32 %r0, {y};");
        add("MP volatile", place, &mp(vwx, "", vwy, vry, "", vrx), stale, Allowed);
        for (fence, verdict) in [
            ("fence.acq_rel.gpu;", Forbidden),
            ("fence.acq_rel.cta;", across),
            ("fence.sc.gpu;", Forbidden),
            ("fence.sc.cta;", across),
            ("membar.gl;", Forbidden),
            ("membar.cta;", across),
        ] {
            add(
                &format!("MP {fence}"),
                place,
                &mp(&wx, fence, &wy, &ry, fence, &rx),
                stale,
                verdict,
            );
        }
        let fence = "fence.acq_rel.gpu;";
        add("MP weak data, fences", place, &mp(pwx, fence, &wy, &ry, fence, prx), stale, Forbidden);
        add("MP fence of the writer", place, &mp(&wx, fence, &wy, &ry, "", &rx), stale, Allowed);
        add("MP fence of the reader", place, &mp(&wx, "", &wy, &ry, fence, &rx), stale, Allowed);
        for (scope, verdict) in [("gpu", Forbidden), ("cta", across)] {
            let release = format!("st.release.{scope}.{{s}}.u32 {{y}}, 1;");
            let acquire = format!("ld.acquire.{scope}.{{s}}.u32 %r0, {{y}};");
            add(
                &format!("MP release acquire {scope}"),
                place,
                &mp(pwx, "", &release, &acquire, "", prx),
                stale,
                verdict,
            );
            add(
                &format!("MP release {scope}"),
                place,
                &mp(&wx, "", &release, &ry, "", &rx),
                stale,
                Allowed,
            );
            add(
                &format!("MP acquire {scope}"),
                place,
                &mp(&wx, "", &wy, &acquire, "", &rx),
                stale,
                Allowed,
            );
            let give = format!("atom.release.{scope}.{{s}}.exch.b32 %u, {{y}}, 1;");
            let take = format!("atom.acquire.{scope}.{{s}}.or.b32 %r0, {{y}}, 0;");
            add(
                &format!("MP atomics {scope}"),
                place,
                &mp(pwx, "", &give, &take, "", prx),
                stale,
                verdict,
            );
        }
        let give = format!("atom.{relaxed}.{{s}}.exch.b32 %u, {{y}}, 1;");
        let take = format!("atom.{relaxed}.{{s}}.or.b32 %r0, {{y}}, 0;");
        add("MP atomics relaxed", place, &mp(&wx, "", &give, &take, "", &rx), stale, Allowed);

        // Store buffering.
        let (ry, rx) = (ld("r0", "y"), ld("r1", "x"));
        let sb = |fence: &str| [join(&[&wx, fence, &ry]), join(&[&wy, fence, &rx])];
        for (fence, verdict) in [
            ("", Allowed),
            ("fence.acq_rel.gpu;", Allowed),
            ("fence.sc.gpu;", Forbidden),
            ("fence.sc.cta;", across),
        ] {
            add(&format!("SB {fence}"), place, &sb(fence), "r0=0 r1=0", verdict);
        }
        // Load buffering.
        let (rx, ry) = (ld("r0", "x"), ld("r1", "y"));
        let lb = |fence: &str| [join(&[&rx, fence, &wy]), join(&[&ry, fence, &wx])];
        for (fence, verdict) in
            [("", Allowed), ("fence.acq_rel.gpu;", Forbidden), ("fence.acq_rel.cta;", across)]
        {
            add(&format!("LB {fence}"), place, &lb(fence), "r0=1 r1=1", verdict);
        }
        let copies = [join(&[&rx, &st("y", "%r0")]), join(&[&ry, &st("x", "%r1")])];
        add("LB copies", place, &copies, "r0=1 r1=1", Forbidden);
        let claim = |r: &str, at: &str, order: &str| {
            format!("atom.{order}.gpu.{{s}}.or.b32 %{r}, {{{at}}}, 1;")
        };
        for (order, verdict) in [("relaxed", Allowed), ("acq_rel", Forbidden)] {
            // What `in_place::strong` rests on: a load, a claim; a claim that finds it, a store.
            let roles =
                [join(&[&rx, &claim("r1", "y", order)]), join(&[&claim("r2", "y", order), &wx])];
            add(&format!("LB claims {order}"), place, &roles, "r0=1 r1=0 r2=1", verdict);
        }
        if place != Shared {
            // What memory holds in the end.
            let w = |a: &str, x: &str, fence: &str, b: &str, y: &str| {
                join(&[&st(a, x), fence, &st(b, y)])
            };
            for (fence, verdict) in
                [("", Allowed), ("fence.acq_rel.gpu;", Allowed), ("fence.sc.gpu;", Forbidden)]
            {
                let roles = [w("x", "1", fence, "y", "2"), w("y", "1", fence, "x", "2")];
                add(&format!("2+2W {fence}"), place, &roles, "x=1 y=1", verdict);
                let roles =
                    [w("x", "1", fence, "y", "1"), join(&[&st("y", "2"), fence, &ld("r0", "x")])];
                add(&format!("R {fence}"), place, &roles, "r0=0 y=2", verdict);
            }
            for (fence, verdict) in [("", Allowed), ("fence.acq_rel.gpu;", Forbidden)] {
                let roles =
                    [w("x", "2", fence, "y", "1"), join(&[&ld("r0", "y"), fence, &st("x", "1")])];
                add(&format!("S {fence}"), place, &roles, "r0=1 x=2", verdict);
            }
            let roles = [w("x", "1", "", "x", "2"), join(&[&ld("r0", "x"), &ld("r1", "x")])];
            add("CoWW", place, &roles, "x=1", Forbidden);
        }
        // Coherence of one location.
        let corr = |load: &str| {
            [wx.clone(), join(&[&load.replace("%r", "%r0"), &load.replace("%r", "%r1")])]
        };
        add(
            "CoRR relaxed",
            place,
            &corr(&format!("ld.{relaxed}.{{s}}.u32 %r, {{x}};")),
            stale,
            Forbidden,
        );
        add("CoRR weak", place, &corr("ld.{s}.u32 %r, {x};"), stale, Allowed);
        add(
            "CoRR weak after relaxed",
            place,
            &[wx.clone(), join(&[&ld("r0", "x"), "ld.{s}.u32 %r1, {x};"])],
            stale,
            Allowed,
        );
        add(
            "CoWR",
            place,
            &[wx.clone(), join(&[&st("x", "2"), &ld("r0", "x")])],
            "r0=0",
            Forbidden,
        );

        // Three and four threads.
        let wrc = |fence: &str| {
            [
                wx.clone(),
                join(&[&ld("r0", "x"), fence, &wy]),
                join(&[&ld("r1", "y"), fence, &ld("r2", "x")]),
            ]
        };
        for (fence, verdict) in
            [("", Allowed), ("fence.acq_rel.gpu;", Forbidden), ("fence.acq_rel.cta;", across)]
        {
            if place == Blocks {
                add(&format!("WRC {fence}"), place, &wrc(fence), "r0=1 r1=1 r2=0", verdict);
            }
        }
        if place == Blocks {
            let sequence = [
                join(&[pwx, "st.release.gpu.{s}.u32 {y}, 1;"]),
                "atom.relaxed.gpu.{s}.add.u32 %u, {y}, 1;".to_owned(),
                join(&["ld.acquire.gpu.{s}.u32 %r0, {y};", prx]),
            ];
            add("MP through an atomic", place, &sequence, "r0=2 r1=0", Forbidden);
        }
        let iriw = |fence: &str| {
            [
                wx.clone(),
                wy.clone(),
                join(&[&ld("r0", "x"), fence, &ld("r1", "y")]),
                join(&[&ld("r2", "y"), fence, &ld("r3", "x")]),
            ]
        };
        for (fence, verdict) in
            [("", Allowed), ("fence.acq_rel.gpu;", Allowed), ("fence.sc.gpu;", Forbidden)]
        {
            add(&format!("IRIW {fence}"), place, &iriw(fence), "r0=1 r1=0 r2=1 r3=0", verdict);
        }
        // A lock around plain accesses: both threads count.
        let counted =
            if apart { ["acquire.gpu", "release.gpu"] } else { ["acquire.cta", "release.cta"] };
        for (orders, verdict) in [(counted, Forbidden), ([relaxed; 2], Allowed)] {
            let [take, give] = orders;
            let lock = |role: u32| {
                format!(
                    "TRY{role}:\natom.{take}.{{s}}.cas.b32 %t, {{y}}, 0, 1;\nsetp.ne.u32 %p, %t, 0;\n@%p bra TRY{role};\n\
                     ld.{{s}}.u32 %r{role}, {{x}};\nadd.u32 %t, %r{role}, 1;\nst.{{s}}.u32 {{x}}, %t;\n\
                     atom.{give}.{{s}}.exch.b32 %t, {{y}}, 0;"
                )
            };
            add(&format!("lock {take}"), place, &[lock(0), lock(1)], "r0=0 r1=0", verdict);
        }
        if !apart {
            let meet = "bar.sync 0;";
            let roles = [join(&[pwx, meet]), join(&[meet, prx, "mov.u32 %r0, 1;"])];
            add("MP barrier", place, &roles, stale, Forbidden);
        }
    }
    tests
}

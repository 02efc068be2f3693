//! PTX that cannot be run and launches that are not allowed: each an error that says why.

mod common;

use common::{Device, HEAD, arg, kernel_around};
use simt::{Error, LaunchConfig, Memory, Module, Options};

/// Why the kernel around `body` is refused, and on which line of `body`.
fn refusal(body: &str) -> (Error, u32) {
    let ptx = kernel_around(body);
    let first = ptx.lines().position(|line| line == body.lines().next().unwrap()).unwrap() as u32;
    let module = Module::parse(&ptx).unwrap_or_else(|error| panic!("{error}: {body}"));
    let error = module.kernel("k").expect_err(body).clone();
    let line = match &error {
        Error::Syntax { line, .. }
        | Error::Unsupported { line, .. }
        | Error::Invalid { line, .. } => *line,
        other => panic!("{other}"),
    };
    (error, line - first - 1)
}

#[test]
fn unknown_instructions_are_refused_with_their_line() {
    for opcode in [
        "frobnicate.u32 %r1, %r2",
        "add.sat.s32 %r1, %r2, %r3",
        "add.u8 %r1, %r2, %r3",
        "add.f16 %h1, %h2, %h3",
        "add.rz.f32 %r1, %r2, %r3",
        "add.ftz.f32 %r1, %r2, %r3",
        "mul.u32 %r1, %r2, %r3",
        "mul.wide.u64 %d1, %d2, %d3",
        "mad.f32 %r1, %r2, %r3, %r4",
        "div.approx.f32 %r1, %r2, %r3",
        "div.f32 %r1, %r2, %r3",
        "sin.approx.f32 %r1, %r2",
        "setp.lt.b32 %p1, %r1, %r2",
        "setp.u32 %p1, %r1, %r2",
        "cvt.u32.f32 %r1, %r2",
        "cvt.f32.u32 %r1, %r2",
        "cvt.sat.u8.s32 %h1, %r2",
        "cvt.rn.bf16.f32 %h1, %r2",
        "add.f16 %h1, %h2, %h3",
        "cvta.local.u64 %d1, %d2",
        "cvta.shared.u32 %r1, %r2",
        "ld.const.u32 %r1, [%d1]",
        "ld.local.u32 %r1, [%d1]",
        "ld.global.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%d1]",
        "createpolicy.fractional.L2::evict_last.b64 %d1, 1.0",
        "griddepcontrol",
        "ld.global.v4.b64 {%d1,%d2,%d3,%d4}, [%d1]",
        "st.param.u32 [%d1], %r1",
        "st.shared::cluster.u32 [%d1], %r1",
        "atom.global.add.noftz.f16 %h1, [%d1], %h2",
        "atom.global.inc.u64 %d1, [%d1], %d2",
        "atom.global.and.u32 %r1, [%d1], %r2",
        "cp.async.bulk.commit_group",
        "call.uni foo, ()",
        "call (%r1), foo, (%r2, %r3)",
        "shfl.idx.b32 %r1, %r2, 0, 31",
        "vote.all.pred %p1, %p2",
        "match.any.sync.u32 %r1, %r2, -1",
        "redux.sync.add.b32 %r1, %r2, -1",
        "brx.uni %r1, T",
        "barrier.cluster.arrive",
        "fence.proxy.async",
        "mov.u32 %r1, %nwarpid",
        "mov.u32 %r1, %clock",
        "mov.u64 %d1, %clock64",
        "mov.u32 %r1, %cluster_ctaid.x",
        "tex.2d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [%d1, {%r5,%r6}]",
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%d1]",
        "mbarrier.init.shared.b64 [%d1], 1",
        ".local .b8 stack[16]",
        ".reg .f16x4 %f<3>",
    ] {
        let (error, line) = refusal(&format!("add.u32 %r1, %r2, %r3;\n{opcode};"));
        assert_eq!(line, 1, "{opcode}: {error}");
        let known = matches!(error, Error::Unsupported { .. });
        // Operands whose shape is unknown are a matter of syntax.
        assert!(known || opcode.starts_with("tex"), "{opcode}: {error}");
    }
}

/// Opcodes that are almost ones, as the assembler refuses them too: of 69,000 that were tried, this decoder takes none that `ptxas` does not.
#[test]
fn what_the_assembler_refuses_is_refused() {
    for instruction in [
        "shf.b32 %r1, %r2, %r3, %r4",
        "shf.l.b32 %r1, %r2, %r3, %r4",
        "shf.wrap.b32 %r1, %r2, %r3, %r4",
        "not.rn.pred %p1, %p2",
        "mov.u32 %r1, {%h2, %h3}",
        "mov.f64 {%r1, %r2}, %d1",
        "cvt.rn.rni.s32.f32 %r1, %r2",
        "cvt.rn.rni.f32.s32 %r1, %r2",
        "cvt.rn.rni.f16.f32 %h1, %r2",
        "cvt.rni.f64.f32 %d1, %r2",
        "bar.sync.aligned 0",
        "bar.red.popc.s32 %r1, 0, %p2",
        "barrier.red.popc.f32 %r1, 0, %p2",
        "nanosleep %r1",
        "fence.acq_rel",
        "fence",
        "ld.relaxed.global.u32 %r1, [%d1]",
        "ld.acquire.u32 %r1, [%d1]",
        "st.release.global.u32 [%d1], %r1",
        "ld.weak.volatile.u32 %r1, [%d1]",
        "ld.relaxed.acquire.gpu.u32 %r1, [%d1]",
        "ld.relaxed.gpu.global.ca.u32 %r1, [%d1]",
        "ld.volatile.global.nc.u32 %r1, [%d1]",
        "ld.shared.nc.u32 %r1, [%r1]",
        "ld.global.cv.nc.u32 %r1, [%d1]",
        "ld.global.wb.u32 %r1, [%d1]",
        "ld.mmio.relaxed.gpu.global.u32 %r1, [%d1]",
        "ld.mmio.relaxed.sys.shared.u32 %r1, [%r1]",
        "st.mmio.relaxed.sys.global.v2.u32 [%d1], {%r1, %r2}",
        "st.global.ca.u32 [%d1], %r1",
        "ld.relaxed.gpu.param.u32 %r1, [%d1]",
        "ldu.shared.u32 %r1, [%r1]",
        "ldu.weak.global.u32 %r1, [%d1]",
        "red.acquire.gpu.global.add.u32 [%d1], %r2",
        "red.global.exch.b32 [%d1], %r2",
        "red.global.cas.b32 [%d1], %r2, %r3",
        "prefetch.global [%d1]",
        "prefetch.L1.L2 [%d1]",
        "prefetch.shared.L1 [%r1]",
        "prefetchu.global.L1 [%d1]",
    ] {
        let (error, _) = refusal(&format!("{instruction};"));
        assert!(matches!(error, Error::Unsupported { .. }), "{instruction}: {error}");
    }
}

#[test]
fn broken_rules_are_named() {
    for (body, what) in [
        ("add.u32 %r1, %r2;", "3 operands expected, 2 found"),
        ("add.u32 %r1, %r2, %r99;", "`%r99` is not declared"),
        ("add.u32 %r1, %r2, %d3;", "`%d3` has 64 bits where 32 are expected"),
        ("add.u64 %d1, %d2, %tid.x;", "`%tid.x` has 32 bits where 64 are expected"),
        ("add.u32 %r1, %p2, %r3;", "`%p2` has 1 bits where 32 are expected"),
        ("@%r1 ret;", "`%r1` is not a predicate"),
        ("bra NOWHERE;", "label `NOWHERE` is not defined"),
        ("{ INNER: } bra INNER;", "label `INNER` is not defined"),
        ("A: A: ret;", "label `A` is defined twice"),
        ("brx.idx %r1, TABLE;", "`TABLE` is not defined"),
        ("ld.global.u32 %h1, [%d1];", "`%h1` has 16 bits where 32 are expected"),
        ("ld.global.v2.u32 {%r1,%r2,%r3}, [%d1];", "2 registers expected, 3 found"),
        ("ld.global.u32 %r1, [%r2];", "`%r2` is no address"),
        ("ld.global.u32 %r1, %d2;", "an address in brackets expected"),
        ("st.global.u64 [%d1], %r1;", "`%r1` has 32 bits where 64 are expected"),
        ("ld.global.u32 %r1, [%d1], %d2;", "2 operands expected, 3 found"),
        ("ld.global.L2::cache_hint.u32 %r1, [%d1];", "a register or number expected"),
        (
            "st.global.L2::cache_hint.u32 [%d1], %r1, %r2;",
            "`%r2` has 32 bits where 64 are expected",
        ),
        ("griddepcontrol.wait %r1;", "0 operands expected, 1 found"),
        ("cp.async.cg.shared.global [%r1], [%d1], 8;", "4, 8 or 16 bytes, and with .cg 16"),
        (
            "cp.async.ca.shared.global [%r1], [%d1], 4, 2;",
            "two addresses and a number of bytes expected",
        ),
        ("cp.async.wait_group %r1;", "a number of groups expected"),
        ("mov.u32 5, %r1;", "a register expected"),
        ("lop3.b32 %r1, %r2, %r3, %r4, %r5;", "lop3 needs its table as a number"),
        ("lop3.b32 %r1, %r2, %r3, %r4, 256;", "a table of 8 bits"),
        ("shl.b64 %d1, %d2, %d3;", "`%d3` has 64 bits where 32 are expected"),
        ("{ .reg .b32 %inner; } mov.u32 %inner, 0;", "`%inner` is not declared"),
    ] {
        let (error, line) = refusal(body);
        assert!(matches!(error, Error::Invalid { .. }), "{body}: {error}");
        assert!(error.to_string().contains(what), "{body}: {error}");
        assert_eq!(line, 0);
    }
}

/// Numbers of another type, which the assembler refuses, and expressions, which it computes.
#[test]
fn numbers_are_of_the_instructions_type() {
    for body in [
        "add.f32 %r1, %r2, 1;",
        "add.f64 %d1, %d2, 1;",
        "fma.rn.f32 %r1, %r2, WARP_SZ, 0f00000000;",
        "setp.lt.f32 %p1, %r1, 1;",
        "st.global.v2.f32 [%d1], {0f00000000, 1};",
        "atom.global.add.f32 %r1, [%d1], 1;",
        "cvt.rzi.s32.f32 %r1, 1;",
        "cvt.rzi.s32.f16 %r1, 1;",
        "cvt.rn.f32.s32 %r1, 1.0;",
        "slct.f32.s32 %r1, %r2, 1, %r3;",
        "add.u32 %r1, %r2, 1.0;",
        "add.u32 %r1, %r2, 0f3F800000;",
        "mov.b32 %r1, 1.0;",
        "mov.b64 %d1, 0f3F800000;",
        "shl.b64 %d1, %d2, 1.0;",
    ] {
        let (error, line) = refusal(&format!("ret;\n{body}"));
        assert!(error.to_string().contains("a number of another type than `"), "{body}: {error}");
        assert_eq!(line, 1, "{body}");
    }
    for (body, what) in [
        ("slct.f32.s32 %r1, %r2, 1.0, 3;", "slct takes what it selects by from a register"),
        ("mov.u32 %r1, %r2+1;", "an offset from a register outside brackets"),
        ("mov.u32 %r1, %tid.x+1;", "an offset from a register outside brackets"),
        ("mov.u64 %d1, %d2+1;", "an offset from a register outside brackets"),
        ("mov.u32 %r1, WARP_SZ*2;", "expressions are not computed"),
        ("mov.u32 %r1, WARP_SZ-1;", "expressions are not computed"),
        ("mov.u32 %r1, 1+2;", "expressions are not computed"),
        ("mov.u32 %r1, 1?2:3;", "expressions are not computed"),
        ("mov.u32 %r1, (1+2);", "a register or number expected"),
        ("mov.u32 %r1, ~0;", "expected an operand"),
        ("mov.u32 %r1, !0;", "expected a name"),
        ("mov.u32 %r1, -WARP_SZ;", "expected a number"),
        ("ld.shared.u32 %r1, [%r2+4*2];", "expected `]`"),
    ] {
        let (error, line) = refusal(&format!("ret;\n{body}"));
        assert!(error.to_string().contains(what), "{body}: {error}");
        assert_eq!(line, 1, "{body}");
    }
}

#[test]
fn a_broken_kernel_does_not_spoil_the_others() {
    let ptx = format!(
        "{HEAD}
         .global .align 4 .b8 table[4] = {{1, 2, 3, 4}};
         .func (.param .b32 r) helper(.param .b32 a) {{ ret; }}
         .visible .entry bad() {{ .reg .b64 %d<2>; mov.u64 %d1, table; }}
         .visible .entry garbled() {{ add.u32 %r1 %r2; }}
         .visible .entry cluster() .reqnctapercluster 2, 1, 1 {{ ret; }}
         .extern .func other();
         .visible .entry good() .maxntid 64, 2, 1 .minnctapersm 2 .pragma \"nounroll\"; {{
           .loc 1 2 3
           .pragma \"nounroll\";
           /* nothing */ ;
           ret; }}
         .section .debug_info {{ .b32 1 }}"
    );
    let module = Module::parse(&ptx).unwrap();
    assert_eq!(module.kernels().map(|kernel| kernel.name()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(
        module.refused().map(|(name, _)| name).collect::<Vec<_>>(),
        ["bad", "garbled", "cluster"]
    );
    assert!(module.kernel("bad").unwrap_err().to_string().contains(".global variable table"));
    assert!(matches!(module.kernel("garbled"), Err(Error::Syntax { .. })));
    assert!(matches!(module.kernel("cluster"), Err(Error::Unsupported { .. })));
    assert_eq!(module.kernel("none").unwrap_err(), Error::NoKernel { name: "none".into() });
    assert_eq!(module.kernel("good").unwrap().max_threads(), Some(128));
    assert_eq!((module.version(), module.target()), ("8.3", "sm_90"));
}

#[test]
fn what_is_not_ptx_is_refused() {
    for (text, line) in [
        ("hello", 1),
        (".version 7.0\n.address_size 32", 2),
        (".version 7.0\n\n.entry k() {", 3),
        (".entry k(.param .u64 ) { }", 1),
        (".entry k(.param .u64 a .param .u64 b) { }", 1),
        (".entry k(\n.param .align 3 .b8 a[4]) { }", 2),
        (".global .b32 x[99999999][9999999999];", 1),
        ("/*", 1),
        ("\u{e9}", 1),
    ] {
        match Module::parse(text) {
            Err(Error::Syntax { line: found, .. }) => assert_eq!(found, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn launches_outside_the_limits_are_refused() {
    let module = Module::parse(&format!(
        "{HEAD}.extern .shared .align 16 .b8 dynamic[];
         .visible .entry any(.param .u64 a, .param .align 8 .b8 s[12]) {{ .reg .b32 %r<2>; mov.u32 %r1, dynamic; }}
         .visible .entry exact() .reqntid 32, 4 {{ ret; }}
         .visible .entry few() .maxntid 64 {{ ret; }}
         .visible .entry large() {{ .reg .b32 %r<2>; .shared .b8 tile[50000]; mov.u32 %r1, tile; }}"
    ))
    .unwrap();
    let launch = |kernel: &str, grid, block, dynamic_shared_bytes, args: &[&[u8]]| {
        let config = LaunchConfig { grid, block, dynamic_shared_bytes };
        let kernel = module.kernel(kernel).unwrap();
        kernel.launch(&Memory::new(1), &config, args, &Options::default()).map(drop)
    };
    let args: [&[u8]; 2] = [&[0; 8], &[0; 12]];
    let ok = launch("any", [1; 3], [1024, 1, 1], 200 << 10, &args);
    assert_eq!(ok, Ok(()));
    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    for (grid, part) in [
        ([0, 1, 1], "grid.x is 0"),
        ([1 << 31, 1, 1], "grid.x is 2147483648"),
        ([1, 65536, 1], "grid.y is 65536, allowed are 1 to 65535"),
        ([1, 1, 65536], "grid.z is 65536"),
    ] {
        let refused = message(launch("any", grid, [1; 3], 0, &args));
        assert!(refused.contains(part), "{refused}");
    }
    for (block, part) in [
        ([0, 1, 1], "0 x 1 x 1 threads; allowed are 1 to 1024 x 1024 x 64"),
        ([1, 1, 65], "1 x 1 x 65 threads"),
        ([32, 33, 1], "at most 1024 in all"),
    ] {
        let refused = message(launch("any", [1; 3], block, 0, &args));
        assert!(refused.contains(part), "{refused}");
    }
    assert!(message(launch("exact", [1; 3], [32, 2, 1], 0, &[])).contains("requires 32 x 4 x 1"));
    assert_eq!(launch("exact", [1; 3], [32, 4, 1], 0, &[]), Ok(()));
    assert!(message(launch("few", [1; 3], [65, 1, 1], 0, &[])).contains("allows 64 in all"));
    assert_eq!(launch("few", [1; 3], [8, 8, 1], 0, &[]), Ok(()));
    let refused = message(launch("any", [1; 3], [1; 3], 232449, &args));
    assert!(
        refused.contains("232449 bytes of shared memory (0 of them static), at most 232448"),
        "{refused}"
    );
    assert!(message(launch("large", [1; 3], [1; 3], 0, &[])).contains("at most 49152"));
    assert!(
        message(launch("any", [1; 3], [1; 3], 0, &args[..1]))
            .contains("takes 2 arguments, 1 given")
    );
    let refused = message(launch("any", [1; 3], [1; 3], 0, &[&[0; 8], &[0; 8]]));
    assert!(refused.contains("parameter 1 has 12 bytes, 8 given"), "{refused}");
}

#[test]
fn parameters_are_laid_out_by_their_alignment() {
    let ptx = format!(
        "{HEAD}.visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 out, .param .u16 c,
          .param .align 16 .b8 s[24], .param .f32 f)
         {{ .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %d<9>;
         ld.param.u8 %h1, [a]; ld.param.u64 %d1, [out]; ld.param.u16 %h2, [c]; ld.param.v2.u64 {{%d2, %d3}}, [s];
         mov.b64 %d4, s; ld.param.b64 %d4, [%d4+16]; ld.param.f32 %r1, [f];
         cvt.u64.u16 %d5, %h1; cvt.u64.u16 %d6, %h2; cvt.u64.u32 %d7, %r1;
         st.global.v2.u64 [%d1], {{%d2, %d3}}; st.global.v2.u64 [%d1+16], {{%d4, %d5}};
         st.global.v2.u64 [%d1+32], {{%d6, %d7}}; }}"
    );
    let device = Device::default();
    let out = device.upload(&[0u64; 6]);
    let module = Module::parse(&ptx).unwrap();
    let args = [arg(7u8), arg(out), arg(500u16), arg([1u64, 2, 3]), arg(1.5f32)];
    device.launch(&module, "k", 1, 1, &args).unwrap();
    assert_eq!(device.download::<u64>(out, 6), [1, 2, 3, 7, 500, u64::from(1.5f32.to_bits())]);
}

/// What the module's version or target does not have is refused, as the assembler would; and so is what only a chip knows.
#[test]
fn newer_instructions_and_numbers_of_the_chip_are_refused() {
    let parse = |version: &str, target: &str, body: &str| {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<4>;\n{body}\n}}"
        );
        Module::parse(&text).unwrap().kernel("k").map(drop)
    };
    let redux = "mov.u32 %r1, 3;\nredux.sync.add.u32 %r2, %r1, 0xffffffff;";
    assert_eq!(parse("7.0", "sm_80", redux), Ok(()));
    for (version, target) in [("6.5", "sm_80"), ("7.0", "sm_75")] {
        let what = "`redux.sync.add.u32` needs .version 7.0 and .target sm_80".to_owned();
        assert_eq!(parse(version, target, redux), Err(Error::Invalid { line: 8, what }));
    }
    for register in ["%smid", "%nsmid"] {
        let refused = parse("7.0", "sm_80", &format!("mov.u32 %r1, {register};"));
        assert_eq!(refused, Err(Error::Unsupported { opcode: register.to_owned(), line: 7 }));
    }
}

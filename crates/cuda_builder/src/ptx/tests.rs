//! The scanner, on PTX as LLVM and nvcc write it and on PTX meant to mislead it.

use super::{Finding, Forbidden, entries, findings};

/// A clean kernel with everything that looks like something forbidden.
const CLEAN: &str = r#"
.version 6.0 // call me; .local
.target sm_70
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.shared .align 16 .b8 local[64];
/* call; { .extern .func
   .local } */
.file 1 "a;b{call}.local"
.visible .entry call_local(
	.param .u64 call_local_param_0
)
.maxntid 32, 1, 1
{
	.reg .pred 	%p<2>;
	.reg .b64 	%call<2>;
	ld.param.b64 	%call1, [call_local_param_0];
$call:
	@%p1 bra 	$call;
	@!%p1 bra.uni 	$L__local;
$L__local:
	{ .reg .u64 %local; mov.u64 %local, local; }
	ret;
}
"#;

/// What is found in one statement of a kernel's body.
fn in_kernel(statement: &str) -> Vec<Finding> {
    let ptx = format!(".visible .entry kernel()\n{{\n\tret;\n\t{statement}\n}}\n");
    findings(&ptx)
}

#[test]
fn passes_clean_ptx() {
    assert_eq!(findings(CLEAN), []);
}

#[test]
fn lists_entries_with_lines() {
    let second = ".entry second(.param .u32 x) { ret; }";
    let ptx = format!("{CLEAN}{second}");
    let found: Vec<_> = entries(&ptx).into_iter().map(|entry| (entry.name, entry.line)).collect();
    let expected = [("call_local".to_owned(), 10), ("second".to_owned(), 25)];
    assert_eq!(found, expected);
}

#[test]
fn finds_each_kind_where_it_is() {
    for (statement, what) in [
        (".local .align 8 .b8 \t__local_depot0[16];", Forbidden::Local),
        ("ld.local.b32 %r1, [%rd1];", Forbidden::Local),
        ("@%p1 st.volatile.local.v2.b32 [%rd1], {%r1, %r2};", Forbidden::Local),
        ("cvta.local.u64 %SP, %SPL;", Forbidden::Local),
        ("cvta.to.local.u64 %rd1, %rd2;", Forbidden::Local),
        ("call.uni panic, (param0);", Forbidden::Call),
        ("call (retval0), vprintf, (param0, param1);", Forbidden::Call),
        ("@!%p1 call panic;", Forbidden::Call),
        ("label: call panic;", Forbidden::Call),
        ("a: b: @%p1 call.uni panic;", Forbidden::Call),
        ("{ .reg .b32 t; call.uni panic; }", Forbidden::Call),
        (".loc 1 2 3\n\tcall.uni panic;", Forbidden::Call),
        ("tmp:\n\t.loc 1 2 3, inlined_at 1 2 3\n\tcall.uni panic;", Forbidden::Call),
    ] {
        let found = in_kernel(statement);
        assert_eq!(found.len(), 1, "{statement}: {found:?}");
        assert_eq!(found[0].what, what, "{statement}");
        let line = 4 + statement.matches('\n').count();
        assert!((4..=line).contains(&found[0].line), "{statement}");
        assert_eq!(found[0].function.as_deref(), Some("kernel"), "{statement}");
    }
}

#[test]
fn finds_extern_outside_functions() {
    for statement in [
        ".extern .func (.param .b32 func_retval0) vprintf\n(\n.param .b64 a\n)\n;",
        ".extern .func panic(.param .b64 a) .noreturn;",
        ".extern .global .align 4 .b8 table[4];",
        ".extern .const .align 4 .b8 table[4];",
    ] {
        let found = findings(&format!("{CLEAN}{statement}"));
        assert_eq!(found.len(), 1, "{statement}: {found:?}");
        assert_eq!(found[0].what, Forbidden::Extern, "{statement}");
    }
}

#[test]
fn knows_the_name_of_a_function() {
    for header in [
        ".func helper(.param .b32 a)",
        ".visible .func (.param .b32 result) helper(.param .b32 a)",
        ".func (.param .align 8 .b8 result[16]) helper()",
        ".func (.reg .u32 %result) helper()",
    ] {
        let found = findings(&format!("{header}\n{{ call other; }}"));
        assert_eq!(found[0].function.as_deref(), Some("helper"), "{header}");
    }
}

#[test]
fn a_finding_is_readable() {
    let found = in_kernel("@%p1 call.uni\n\t\tpanic,\n\t\t(param0);");
    assert_eq!(found[0].to_string(), "line 4, `kernel`: a call (@%p1 call.uni panic param0)");
}

#[test]
fn survives_text_that_is_no_ptx() {
    for text in [
        "", "}", "{{{", "\"", "/*", "//", "@", "@@", "@é", "@éa", "@!éa", ".entry", "é;ü", ": : :",
        ".func (",
    ] {
        entries(text);
        findings(text);
    }
}

#[test]
fn finds_a_call_after_any_statement() {
    let mut inside = false;
    let mut tried = 0;
    for (at, line) in CLEAN.lines().enumerate() {
        inside |= line == "{";
        if !inside || line == "}" {
            continue;
        }
        let mut lines: Vec<_> = CLEAN.lines().collect();
        lines.insert(at + 1, "\t@%p1 call.uni panic;");
        let found = findings(&lines.join("\n"));
        assert_eq!(found.len(), 1, "after {line}: {found:?}");
        assert_eq!(found[0].what, Forbidden::Call);
        assert_eq!(found[0].function.as_deref(), Some("call_local"));
        // A label belongs to the statement that it stands before.
        let labels = usize::from(line.ends_with(':'));
        assert_eq!(found[0].line, at + 2 - labels, "after {line}");
        tried += 1;
    }
    assert!(tried > 5, "the kernel's body was not found");
}

//! High halves of 64-bit products.
//!
//! `((n as u64 * magic as u64) >> 32) as u32` becomes a 64-bit multiplication of which the high half is
//! taken. `ptxas` (13.0 and 13.5 at least) may then rewrite `high(n · magic) · d` as `n · high(magic · d)`
//! where `magic` and `d` are the same for all threads: a wrong number from right PTX. `mul.hi.u32` is
//! computed as written, and so is the `mul.hi.u64` that Rust's 128-bit products become.

use super::{Finding, Forbidden};
use std::collections::HashSet;

/// Where the high half of a 64-bit product is taken by hand, in order.
pub(super) fn findings(ptx: &str) -> Vec<Finding> {
    let mut function = None;
    let mut products = HashSet::new();
    let mut found = Vec::new();
    for (index, line) in ptx.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let words: Vec<&str> = code
            .split(|letter: char| letter.is_whitespace() || ",;{}[]()".contains(letter))
            .filter(|word| !word.is_empty() && !word.starts_with('@'))
            .collect();
        if let Some(at) = words.iter().position(|word| matches!(*word, ".entry" | ".func")) {
            function = words.get(at + 1).map(|name| (*name).to_owned());
            products.clear();
        }
        if takes_high_half(&words, &products) {
            found.push(Finding {
                what: Forbidden::HighHalf,
                line: index + 1,
                function: function.clone(),
                statement: words.join(" "),
            });
        }
        if let [mnemonic, result, ..] = words[..] {
            if is_product(mnemonic) {
                products.insert(result);
            } else {
                products.remove(result);
            }
        }
    }
    found
}

/// Whether an instruction's result is a 64-bit product.
fn is_product(mnemonic: &str) -> bool {
    let mut parts = mnemonic.split('.');
    let multiplies = matches!(parts.next(), Some("mul" | "mad"));
    let wide = mnemonic.contains(".wide.") && mnemonic.ends_with("32");
    let low = mnemonic.contains(".lo.") && mnemonic.ends_with("64");
    multiplies && (wide || low)
}

/// Whether an instruction takes the high half of one of the products: as the second half of a pair, or
/// by shifting 32 bits.
fn takes_high_half(words: &[&str], products: &HashSet<&str>) -> bool {
    if let Some(at) = words.iter().position(|word| *word == "mov.b64") {
        // `mov.b64 {low, high}, from`; a half that nobody wants is called `tmp` or `_`.
        if let [_, high, from] = words[at + 1..] {
            return products.contains(from) && !matches!(high, "tmp" | "_");
        }
    }
    match words {
        ["shr.u64" | "shr.s64" | "shr.b64", _, from, by] => {
            products.contains(from) && by.parse() == Ok(32_u32)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::findings;

    /// What a remainder by multiplication became before it was written with `mul.hi`: `ptxas` got one
    /// like it wrong.
    const REMAINDER: &str = "
.visible .entry remainder(
	.param .u64 remainder_param_0
)
{
	ld.param.b64 	%rd2, [remainder_param_0];
	and.b64 	%rd3, %rd2, 4294967295;
	cvt.u64.u32 	%rd5, %r1;
	mul.lo.s64 	%rd6, %rd3, %rd5;
	{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd6; }
	mul.lo.s32 	%r4, %r3, %r2;
";

    #[test]
    fn finds_the_high_half_of_a_product() {
        let found = findings(REMAINDER);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].function.as_deref()), (10, Some("remainder")));
        let shifted = REMAINDER
            .replace("{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd6; }", "shr.u64 	%rd7, %rd6, 32;");
        assert_eq!(findings(&shifted).len(), 1);
        let wide =
            REMAINDER.replace("mul.lo.s64 	%rd6, %rd3, %rd5;", "mul.wide.u32 %rd6, %r8, %r9;");
        assert_eq!(findings(&wide).len(), 1);
    }

    #[test]
    fn leaves_other_halves_alone() {
        for (from, to) in [
            ("{tmp, %r3}", "{%r3, tmp}"),
            ("mul.lo.s64 	%rd6", "add.s64 	%rd6"),
            ("mul.lo.s64 	%rd6", "mul.lo.s64 	%rd8"),
            ("mul.lo.s32", "mul.hi.u32"),
        ] {
            let text = REMAINDER.replace(from, to);
            let expected = usize::from(to.starts_with("mul.hi"));
            assert_eq!(findings(&text).len(), expected, "{to}");
        }
    }
}

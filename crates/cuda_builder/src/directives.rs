//! Directives of a kernel that rustc has no attribute for, such as `.maxnreg`.
//!
//! PTX wants them between a kernel's parameters and its body. A kernel can put them only into its body, as assembly:
//!
//! ```ignore
//! asm!("//@entry .maxnreg 32", options(nomem, nostack, preserves_flags));
//! ```
//!
//! To every other reader that is a comment. Here it becomes a directive of the kernel that it stands in.

/// What a line of assembly begins with that is meant for the kernel's head.
const MARK: &str = "//@entry ";

/// The PTX with every marked line moved to where its kernel's body begins, once each.
pub(crate) fn hoist(ptx: &str) -> String {
    let mut out = String::with_capacity(ptx.len());
    // Where the body of the function that we are in begins, and what was put there.
    let mut body = 0;
    let mut hoisted: Vec<&str> = Vec::new();
    for line in ptx.split_inclusive('\n') {
        if let Some(directive) = line.trim().strip_prefix(MARK) {
            if !hoisted.contains(&directive) {
                let text = format!("{directive}\n");
                out.insert_str(body, &text);
                body += text.len();
                hoisted.push(directive);
            }
            continue;
        }
        // LLVM gives the brace of a function a line, and writes no other at its beginning.
        if line.starts_with('{') {
            body = out.len();
            hoisted.clear();
        }
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::hoist;

    #[test]
    fn directives_go_to_their_kernels_head() {
        let inside = ".entry a(\n)\n{\n\tmov;\n\t//@entry .maxnreg 32\n\tret;\n}\n.entry b(\n)\n{\n\
                      \t//@entry .maxnreg 40\n\t//@entry .maxntid 64\n\t{ mov; }\n\t//@entry .maxnreg 40\n}\n";
        let outside = ".entry a(\n)\n.maxnreg 32\n{\n\tmov;\n\tret;\n}\n.entry b(\n)\n.maxnreg 40\n.maxntid 64\n{\n\
                       \t{ mov; }\n}\n";
        assert_eq!(hoist(inside), outside);
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in ["", "\n", "// @entry\n{\n//@entries\n}", "{ //@entry .maxnreg 1\n}\n"] {
            assert_eq!(hoist(text), text);
        }
    }
}

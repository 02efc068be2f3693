//! Takes the place of the crate out of the names in the PTX.
//!
//! The name of a private item, such as a table of constants, contains a hash of its
//! crate (the *disambiguator*), and cargo puts the folders of path dependencies
//! into that. So two checkouts of one source would get two PTX files. The names
//! only have to differ from each other: the hashes are numbered as they come.

use std::collections::HashMap;

/// The PTX with every crate's hash replaced by its number.
///
/// Names are those that rustc makes (v0 mangling): they begin with `_R`, and a crate
/// in them is `Cs`, the hash, `_`, the length of the crate's name, the name.
pub(crate) fn number_crates(ptx: &str) -> String {
    let mut numbers = HashMap::new();
    let mut out = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while !rest.is_empty() {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let word_len = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_len);
        match word.starts_with("_R") {
            true => rename(word, &mut numbers, &mut out),
            false => out.push_str(word),
        }
        let gap_len = after.find(is_name).unwrap_or(after.len());
        let (gap, next) = after.split_at(gap_len);
        out.push_str(gap);
        rest = next;
    }
    out
}

/// Appends a mangled name with its hashes numbered.
fn rename<'a>(name: &'a str, numbers: &mut HashMap<&'a str, usize>, out: &mut String) {
    let mut rest = name;
    while let Some(at) = rest.find("Cs") {
        let (before, after) = rest.split_at(at + "Cs".len());
        out.push_str(before);
        rest = after;
        if let Some(hash) = leading_hash(rest) {
            let next = numbers.len();
            let number = *numbers.entry(hash).or_insert(next);
            out.push_str(&number.to_string());
            rest = &rest[hash.len()..];
        }
    }
    out.push_str(rest);
}

/// The hash at the start of `text`, if a `_` and a length follow it.
fn leading_hash(text: &str) -> Option<&str> {
    let (hash, after) = text.split_once('_')?;
    let plausible = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plausible && after.starts_with(|letter: char| letter.is_ascii_digit())).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::number_crates;

    /// PTX of a crate that refers to another, with the hashes of both left open.
    fn ptx(own: &str, other: &str) -> String {
        format!(
            ".global .b8 _RNvNvCs{own}_7kernels4tile5TABLE[2] = {{3, 1}};\n\
             .visible .entry Cs1_2(.param .u64 Cs1_2_param_0)\n\
             {{ mov.b64 %rd5, _RNvNvCs{own}_7kernels4tile5TABLE;\n\
             mov.b64 %rd6, _RINvCs{other}_4core3fooNtCs{own}_7kernels1TE; }}"
        )
    }

    #[test]
    fn hashes_become_numbers_in_order() {
        assert_eq!(number_crates(&ptx("9aen06GJ5mT", "cRNwciVHUxW")), ptx("0", "1"));
    }

    #[test]
    fn different_names_stay_different() {
        let out = number_crates("_RNvCsa_1k1T _RNvCsb_1k1T _RNvCs0_1k1T _RNvCs1_1k1T");
        assert_eq!(out, "_RNvCs0_1k1T _RNvCs1_1k1T _RNvCs2_1k1T _RNvCs3_1k1T");
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in ["", "Cs1_2", "ü_RNvCs", "_RNvCs_1k", "_RNvC7kernels1T", "a\n\t\"Csx_1\""] {
            assert_eq!(number_crates(text), text);
        }
    }
}

//! Reads PTX as far as needed to say which kernels are in it, and whether it has
//! what a kernel of this kind must not have.
//!
//! - `.local` memory is per-thread memory that lies in the GPU's main memory: an
//!   array on the stack, or registers spilled by LLVM. It costs bandwidth silently.
//! - A `call` means that something was not inlined: usually the formatting of a
//!   panic message. It needs a stack, and stacks are local memory.
//! - `.extern` means that something is to be linked in. Nothing links here.
//!   `.extern .shared` is different: it is how dynamic shared memory is declared.
//! - The high half of a 64-bit product, taken by hand, is miscompiled by `ptxas`: see `products`.
//!
//! The scanner, but for that, knows comments, strings, statements and blocks, and nothing about
//! single instructions, so that new ones need no change here.

mod products;

use std::fmt;

/// A kernel in a PTX module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its name, by which it is launched.
    pub name: String,
    /// The line of its `.entry`, counted from 1.
    pub line: usize,
}

/// What must not be in the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forbidden {
    /// Local memory: declared or accessed.
    Local,
    /// A function call.
    Call,
    /// A declaration of something that is not in the module.
    Extern,
    /// The high half of a 64-bit product, taken by hand.
    HighHalf,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Local => "local memory",
            Self::Call => "a call",
            Self::Extern => "an unresolved extern",
            Self::HighHalf => {
                "the high half of a 64-bit product, which ptxas miscompiles: use mul.hi"
            }
        })
    }
}

/// A place in the PTX that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What is there.
    pub what: Forbidden,
    /// The line, counted from 1.
    pub line: usize,
    /// The kernel or function it is in; `None` outside of all.
    pub function: Option<String>,
    /// The statement, its words joined by single blanks.
    pub statement: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}", self.line)?;
        if let Some(function) = &self.function {
            write!(out, ", `{function}`")?;
        }
        write!(out, ": {} ({})", self.what, self.statement)
    }
}

/// The kernels of a module, in order.
pub fn entries(ptx: &str) -> Vec<Entry> {
    statements(ptx)
        .filter_map(|statement| {
            Some(Entry { name: statement.name_after(".entry")?.to_owned(), line: statement.line })
        })
        .collect()
}

/// Everything in a module that is refused, in order.
pub fn findings(ptx: &str) -> Vec<Finding> {
    let mut function = None;
    let mut found = Vec::new();
    for statement in statements(ptx) {
        if statement.depth == 0 {
            function = statement
                .name_after(".entry")
                .or_else(|| statement.name_after(".func"))
                .map(str::to_owned);
        }
        if let Some(what) = statement.forbidden() {
            found.push(Finding {
                what,
                line: statement.line,
                function: function.clone(),
                statement: statement.text(),
            });
        }
    }
    found.extend(products::findings(ptx));
    found.sort_by_key(|finding| finding.line);
    found
}

/// What stands between two of `;`, `{` and `}`.
#[derive(Debug)]
struct Statement<'a> {
    /// The line of its first word.
    line: usize,
    /// How many blocks are open around it.
    depth: usize,
    /// Names, mnemonics, directives and numbers; colons and parentheses; a `@` with the
    /// predicate that it begins. Every other character is dropped.
    words: Vec<&'a str>,
}

impl<'a> Statement<'a> {
    /// The name that a directive declares. The result of a `.func` stands between the
    /// two, in parentheses.
    fn name_after(&self, directive: &str) -> Option<&'a str> {
        let at = self.words.iter().position(|word| *word == directive)?;
        let mut rest = self.words[at + 1..].iter().copied();
        match rest.next()? {
            "(" => rest.skip_while(|word| *word != ")").nth(1),
            name => Some(name),
        }
    }

    /// The statement for a reader.
    fn text(&self) -> String {
        let words = self.words.iter().copied();
        let words: Vec<_> = words.filter(|word| !matches!(*word, "(" | ")")).collect();
        words.join(" ")
    }

    /// The words without labels and predicate: the first one says what it is.
    fn instruction(&self) -> &[&'a str] {
        let after_labels = self.words.iter().rposition(|word| *word == ":");
        let mut rest = &self.words[after_labels.map_or(0, |at| at + 1)..];
        while rest.first().is_some_and(|word| word.starts_with('@')) {
            rest = &rest[1..];
        }
        rest
    }

    fn forbidden(&self) -> Option<Forbidden> {
        let words = self.instruction();
        let mnemonic = words.first()?;
        if mnemonic.split('.').next() == Some("call") {
            return Some(Forbidden::Call);
        }
        // A name has no dot in it, so `.local` after a dot is the state space.
        if words.iter().any(|word| word.split('.').skip(1).any(|part| part == "local")) {
            return Some(Forbidden::Local);
        }
        let is_extern = words.contains(&".extern") && !words.contains(&".shared");
        is_extern.then_some(Forbidden::Extern)
    }
}

/// Splits a module into statements.
fn statements(ptx: &str) -> impl Iterator<Item = Statement<'_>> {
    let mut words = words_of_statements(ptx);
    let mut depth = 0_usize;
    std::iter::from_fn(move || {
        let mut statement: Option<Statement<'_>> = None;
        for (line, word) in words.by_ref() {
            let here = depth;
            match word {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                ";" => {}
                _ => {
                    let current =
                        statement.get_or_insert(Statement { line, depth: here, words: Vec::new() });
                    current.words.push(word);
                    continue;
                }
            }
            if statement.is_some() {
                return statement;
            }
        }
        statement
    })
}

/// Directives that end with their line and not with a semicolon.
const LINES: [&str; 5] = [".version", ".target", ".address_size", ".file", ".loc"];

/// The words of a module without the lines of such directives.
fn words_of_statements(ptx: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut skipped = None;
    words(ptx).filter(move |(line, word)| {
        if LINES.contains(word) {
            skipped = Some(*line);
        }
        skipped != Some(*line)
    })
}

/// The words of a module with their lines, without comments and strings.
fn words(ptx: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let mut line = 1;
    std::iter::from_fn(move || {
        loop {
            let rest = &ptx[at..];
            let first = rest.chars().next()?;
            let (len, is_word) = token(rest, first);
            let here = line;
            line += rest[..len].matches('\n').count();
            at += len;
            if is_word {
                return Some((here, &rest[..len]));
            }
        }
    })
}

/// How long the token at the start of `rest` is, and whether it is kept.
fn token(rest: &str, first: char) -> (usize, bool) {
    let until = |end: &str, from: usize| {
        let found = rest[from..].find(end);
        found.map_or(rest.len(), |at| from + at + end.len())
    };
    if rest.starts_with("//") {
        (until("\n", 2), false)
    } else if rest.starts_with("/*") {
        (until("*/", 2), false)
    } else if first == '"' {
        (until("\"", 1), false)
    } else if matches!(first, ';' | '{' | '}' | ':' | '(' | ')') {
        (1, true)
    } else if first == '@' || is_word_part(first) {
        let name = rest.trim_start_matches('@').trim_start_matches('!');
        let end = name.find(|letter| !is_word_part(letter));
        (rest.len() - name.len() + end.unwrap_or(name.len()), true)
    } else {
        (first.len_utf8(), false)
    }
}

fn is_word_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '$' | '%')
}

#[cfg(test)]
mod tests;

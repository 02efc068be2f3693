//! Python literals, as far as the headers of `.npy` files have them: strings, words, lists, tuples and dictionaries.
//!
//! One pass over the text, without going back, and brackets no deeper than Python takes them: time and memory grow with the text's length.

use anyhow::{Result, bail, ensure};

/// How deep brackets may be nested. Python's own parser refuses more.
pub const DEEPEST: usize = 200;

/// A literal, and how it is written.
#[derive(Debug)]
pub struct Literal<'a> {
    /// As it stands in the source.
    pub text: &'a str,
    /// What it is.
    pub value: Value<'a>,
}

/// What a literal can be.
#[derive(Debug)]
pub enum Value<'a> {
    /// What stands between quotes, escapes as they are.
    Text(&'a str),
    /// A number, `True`, `False` or `None`.
    Word(&'a str),
    /// `[…]`
    List(Vec<Literal<'a>>),
    /// `(…)`
    Tuple(Vec<Literal<'a>>),
    /// `{…}`
    Dictionary(Vec<(Literal<'a>, Literal<'a>)>),
}

impl<'a> Literal<'a> {
    /// Reads a literal that is all of `text`.
    ///
    /// # Errors
    /// Where the text is no such literal.
    pub fn parse(text: &'a str) -> Result<Self> {
        let mut parser = Parser { text, at: 0 };
        let literal = parser.literal(0)?;
        parser.skip_spaces();
        ensure!(parser.at == text.len(), "something follows: {}", parser.rest());
        Ok(literal)
    }
}

/// A text, and how far it has been read.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over the byte, if it is the next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The start of what has not been read, for messages.
    fn rest(&self) -> String {
        let rest: String = self.text[self.at..].chars().take(20).collect();
        if rest.is_empty() { "the end".to_owned() } else { format!("{rest:?}") }
    }

    fn literal(&mut self, depth: usize) -> Result<Literal<'a>> {
        ensure!(depth <= DEEPEST, "brackets are nested more than {DEEPEST} deep");
        self.skip_spaces();
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.dictionary(depth + 1)?,
            Some(b'[') => Value::List(self.items(b']', depth + 1)?.0),
            Some(b'(') => match self.items(b')', depth + 1)? {
                // In Python a comma makes a tuple; brackets alone do not.
                (mut items, false) if items.len() == 1 => items.remove(0).value,
                (items, _) => Value::Tuple(items),
            },
            _ => self.string_or_word()?,
        };
        Ok(Literal { text: &self.text[start..self.at], value })
    }

    /// What stands between brackets, and whether a comma follows the last of it.
    fn items(&mut self, close: u8, depth: usize) -> Result<(Vec<Literal<'a>>, bool)> {
        self.at += 1;
        let (mut items, mut comma) = (Vec::new(), true);
        loop {
            self.skip_spaces();
            if self.take(close) {
                return Ok((items, comma));
            }
            ensure!(comma, "a comma is missing before {}", self.rest());
            items.push(self.literal(depth)?);
            self.skip_spaces();
            comma = self.take(b',');
        }
    }

    fn dictionary(&mut self, depth: usize) -> Result<Value<'a>> {
        self.at += 1;
        let (mut entries, mut comma) = (Vec::new(), true);
        loop {
            self.skip_spaces();
            if self.take(b'}') {
                return Ok(Value::Dictionary(entries));
            }
            ensure!(comma, "a comma is missing before {}", self.rest());
            let key = self.literal(depth)?;
            self.skip_spaces();
            ensure!(self.take(b':'), "a colon is missing before {}", self.rest());
            entries.push((key, self.literal(depth)?));
            self.skip_spaces();
            comma = self.take(b',');
        }
    }

    fn string_or_word(&mut self) -> Result<Value<'a>> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte))
        {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        match self.peek() {
            // Python 2 wrote u'…' and b'…' too.
            Some(quote @ (b'\'' | b'"')) if ["", "u", "U", "b", "B"].contains(&word) => {
                self.string(quote)
            }
            _ if word.is_empty() => bail!("no literal starts with {}", self.rest()),
            _ => Ok(Value::Word(word)),
        }
    }

    fn string(&mut self, quote: u8) -> Result<Value<'a>> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                Some(byte) if byte == quote => break,
                Some(b'\n') | None => bail!("a string does not end"),
                // Whatever is escaped does not end the string.
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        let text = &self.text[start..self.at];
        self.at += 1;
        Ok(Value::Text(text))
    }
}

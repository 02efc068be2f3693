//! Cuts PTX text into tokens, each with its line number.
//!
//! PTX glues modifiers to opcodes with dots (`ld.global.v4.b32`, also
//! `ld.global.L1::no_allocate.b32`), so a dotted word is one token here and is
//! taken apart only where its meaning is decided.

use crate::Error;

/// One token and the line it starts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub line: u32,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind<'a> {
    /// An identifier, directive, register, label or opcode with its modifiers.
    Word(&'a str),
    /// An integer literal; a sign is a token of its own.
    Int(u64),
    /// A single-precision literal, as bits.
    F32(u32),
    /// A double-precision literal, as bits.
    F64(u64),
    /// A quoted string, without the quotes.
    Text(&'a str),
    /// Any other single character.
    Punct(char),
}

/// Cuts `source` into tokens.
pub(crate) fn tokenize(source: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut lexer = Lexer { source, at: 0, line: 1 };
    let mut tokens = Vec::with_capacity(source.len() / 4);
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    line: u32,
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

fn is_word(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit()
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn syntax(&self, what: impl Into<String>) -> Error {
        Error::Syntax { line: self.line, what: what.into() }
    }

    fn next(&mut self) -> Result<Option<Token<'a>>, Error> {
        self.skip_blank()?;
        if self.at >= self.source.len() {
            return Ok(None);
        }
        let line = self.line;
        let first = self.peek(0);
        let kind = if is_word_start(first) {
            TokenKind::Word(self.word())
        } else if first.is_ascii_digit() {
            self.number()?
        } else if first == b'"' {
            TokenKind::Text(self.text()?)
        } else if first.is_ascii() {
            self.at += 1;
            TokenKind::Punct(char::from(first))
        } else {
            return Err(self.syntax("a character that is not ASCII"));
        };
        Ok(Some(Token { kind, line }))
    }

    /// Skips white space and both kinds of comment.
    fn skip_blank(&mut self) -> Result<(), Error> {
        let bytes = self.source.as_bytes();
        while self.at < bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r', _) => self.at += 1,
                (b'/', b'/') => {
                    while self.at < bytes.len() && bytes[self.at] != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => self.skip_block_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_block_comment(&mut self) -> Result<(), Error> {
        let Some(length) = self.source[self.at + 2..].find("*/") else {
            return Err(self.syntax("a comment that never ends"));
        };
        let comment = &self.source[self.at..self.at + 2 + length];
        self.line += comment.matches('\n').count() as u32;
        self.at += length + 4;
        Ok(())
    }

    fn word(&mut self) -> &'a str {
        let start = self.at;
        loop {
            if is_word(self.peek(0)) {
                self.at += 1;
            } else if self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                self.at += 2;
            } else {
                return &self.source[start..self.at];
            }
        }
    }

    fn text(&mut self) -> Result<&'a str, Error> {
        let start = self.at + 1;
        let Some(length) = self.source[start..].find(['"', '\n']) else {
            return Err(self.syntax("a string that never ends"));
        };
        if self.source.as_bytes()[start + length] == b'\n' {
            return Err(self.syntax("a string that runs over its line"));
        }
        self.at = start + length + 1;
        Ok(&self.source[start..start + length])
    }

    fn number(&mut self) -> Result<TokenKind<'a>, Error> {
        let start = self.at;
        while is_word(self.peek(0)) && self.peek(0) != b'%' && self.peek(0) != b'$' {
            self.at += 1;
        }
        let text = &self.source[start..self.at];
        parse_number(text).ok_or_else(|| self.syntax(format!("`{text}` is not a number")))
    }
}

fn parse_number<'a>(text: &str) -> Option<TokenKind<'a>> {
    let (head, rest) = text.split_at(text.len().min(2));
    match head {
        "0f" | "0F" if rest.len() == 8 => {
            return u32::from_str_radix(rest, 16).ok().map(TokenKind::F32);
        }
        "0d" | "0D" if rest.len() == 16 => {
            return u64::from_str_radix(rest, 16).ok().map(TokenKind::F64);
        }
        _ => {}
    }
    if text.contains('.') {
        return text.parse::<f64>().ok().map(|value| TokenKind::F64(value.to_bits()));
    }
    let text = text.strip_suffix(['U', 'u']).unwrap_or(text);
    let (digits, radix) = match head {
        "0x" | "0X" => (&text[2..], 16),
        "0b" | "0B" => (&text[2..], 2),
        _ if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(TokenKind::Int)
}

#[cfg(test)]
mod tests {
    use super::{TokenKind::*, *};

    fn kinds(source: &str) -> Vec<TokenKind<'_>> {
        tokenize(source).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_keep_their_modifiers() {
        assert_eq!(
            kinds("ld.global.L1::no_allocate.v2.b32 {%r1,_}, [%rd1+-8];"),
            [
                Word("ld.global.L1::no_allocate.v2.b32"),
                Punct('{'),
                Word("%r1"),
                Punct(','),
                Word("_"),
                Punct('}'),
                Punct(','),
                Punct('['),
                Word("%rd1"),
                Punct('+'),
                Punct('-'),
                Int(8),
                Punct(']'),
                Punct(';'),
            ]
        );
    }

    #[test]
    fn a_label_is_a_word_and_a_colon() {
        assert_eq!(
            kinds("$L__BB0_2: ret;"),
            [Word("$L__BB0_2"), Punct(':'), Word("ret"), Punct(';')]
        );
    }

    #[test]
    fn numbers_in_every_notation() {
        assert_eq!(
            kinds("10 0x1fU 017 0b101 0 0f3F800000 0d3FF0000000000000 1.5"),
            [
                Int(10),
                Int(31),
                Int(15),
                Int(5),
                Int(0),
                F32(1f32.to_bits()),
                F64(1f64.to_bits()),
                F64(1.5f64.to_bits()),
            ]
        );
        assert!(tokenize("12z").is_err());
        assert!(tokenize("99999999999999999999").is_err());
    }

    #[test]
    fn comments_and_strings_keep_the_line_count() {
        let tokens = tokenize("// a\n/* b\n\n */ x \"// no comment\"\ny").unwrap();
        assert_eq!(tokens[0], Token { kind: Word("x"), line: 4 });
        assert_eq!(tokens[1].kind, Text("// no comment"));
        assert_eq!(tokens[2], Token { kind: Word("y"), line: 5 });
        assert!(tokenize("/* never").is_err());
        assert!(tokenize("\"never").is_err());
        assert!(tokenize("\"never\n\"").is_err());
    }
}

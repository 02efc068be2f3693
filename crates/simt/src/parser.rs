//! Reads tokens into statements: the grammar of PTX, without its meaning.
//!
//! The parser knows directives, declarations, labels, guards and operand
//! shapes. It does not know a single opcode: that is [`crate::decode`]'s work,
//! done per kernel, so that one kernel nobody can run does not spoil a module.

use crate::Error;
use crate::lexer::{Token, TokenKind};
use crate::syntax::{Base, Entry, File, Instruction, Operand, Statement, StatementKind, Variable};

/// Reads a whole file.
pub(crate) fn parse<'a>(tokens: &[Token<'a>]) -> Result<File<'a>, Error> {
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let mut file = File::default();
    while let Some(token) = parser.peek() {
        let TokenKind::Word(word) = token.kind else {
            return Err(parser.syntax("expected a directive"));
        };
        match word {
            ".version" => file.version = parser.rest_of_line(),
            ".target" => file.target = parser.rest_of_line(),
            ".address_size" => parser.address_size()?,
            ".file" => drop(parser.rest_of_line()),
            ".section" => parser.skip_section()?,
            ".pragma" => parser.skip_past(';')?,
            _ => parser.declaration(&mut file)?,
        }
    }
    Ok(file)
}

struct Parser<'a, 't> {
    tokens: &'t [Token<'a>],
    at: usize,
    /// Braces open around the place at hand.
    depth: u32,
}

/// Braces may be nested this deep; more would only serve to exhaust the stack.
const DEEPEST: u32 = 64;

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn line(&self) -> u32 {
        self.peek().or(self.tokens.last().copied()).map_or(1, |token| token.line)
    }

    fn syntax(&self, what: impl Into<String>) -> Error {
        Error::Syntax { line: self.line(), what: what.into() }
    }

    fn next(&mut self) -> Result<Token<'a>, Error> {
        let token = self.peek().ok_or_else(|| self.syntax("the file ends too early"))?;
        self.at += 1;
        Ok(token)
    }

    fn eat(&mut self, punct: char) -> bool {
        let hit = matches!(self.peek(), Some(token) if token.kind == TokenKind::Punct(punct));
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, punct: char) -> Result<(), Error> {
        if self.eat(punct) { Ok(()) } else { Err(self.syntax(format!("expected `{punct}`"))) }
    }

    fn word(&mut self) -> Result<&'a str, Error> {
        match self.peek() {
            Some(Token { kind: TokenKind::Word(word), .. }) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.syntax("expected a name")),
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let hit = matches!(self.peek(), Some(token) if token.kind == TokenKind::Word(word));
        self.at += usize::from(hit);
        hit
    }

    /// A non-negative integer that fits `u32`.
    fn count(&mut self) -> Result<u32, Error> {
        match self.next()?.kind {
            TokenKind::Int(value) => {
                u32::try_from(value).map_err(|_| self.syntax(format!("{value} is too large")))
            }
            _ => Err(self.syntax("expected a number")),
        }
    }

    fn rest_of_line(&mut self) -> String {
        let line = self.line();
        self.at += 1;
        let mut words = Vec::new();
        while let Some(token) = self.peek().filter(|token| token.line == line) {
            match token.kind {
                TokenKind::Word(word) => words.push(word.to_owned()),
                TokenKind::F64(bits) => words.push(format!("{:?}", f64::from_bits(bits))),
                _ => {}
            }
            self.at += 1;
        }
        words.join(" ")
    }

    fn address_size(&mut self) -> Result<(), Error> {
        self.at += 1;
        match self.count()? {
            64 => Ok(()),
            other => Err(self.syntax(format!("{other}-bit addresses; only 64-bit ones are known"))),
        }
    }

    fn skip_past(&mut self, punct: char) -> Result<(), Error> {
        while self.next()?.kind != TokenKind::Punct(punct) {}
        Ok(())
    }

    /// Skips a `.section name { … }` of debug information.
    fn skip_section(&mut self) -> Result<(), Error> {
        self.skip_past('{')?;
        self.skip_past('}')
    }

    /// A kernel, a function or a variable, after its linkage.
    fn declaration(&mut self, file: &mut File<'a>) -> Result<(), Error> {
        let mut external = false;
        loop {
            let line = self.line();
            match self.word()? {
                ".visible" | ".weak" | ".common" => {}
                ".extern" => external = true,
                ".entry" => {
                    let entry = self.entry(line)?;
                    file.entries.extend(entry);
                    return Ok(());
                }
                ".func" => return self.skip_function(),
                space @ (".global" | ".const" | ".shared") => {
                    file.variables.push(self.variable(space, line, external)?);
                    return self.end_of_variable();
                }
                other => {
                    return Err(Error::Syntax {
                        line,
                        what: format!("unknown directive `{other}`"),
                    });
                }
            }
        }
    }

    /// Steps over an initialiser, which no kernel can read here: a reference to
    /// a `.global` or `.const` variable is refused when it is decoded.
    fn end_of_variable(&mut self) -> Result<(), Error> {
        if self.eat('=') { self.skip_past(';') } else { self.expect(';') }
    }

    /// Steps over a function: calls are refused when they are decoded.
    fn skip_function(&mut self) -> Result<(), Error> {
        loop {
            match self.next()?.kind {
                TokenKind::Punct(';') => return Ok(()),
                TokenKind::Punct('{') => {
                    self.at -= 1;
                    return self.skip_braces().map(drop);
                }
                _ => {}
            }
        }
    }

    /// Steps over `{ … }` and returns the range of tokens inside.
    fn skip_braces(&mut self) -> Result<std::ops::Range<usize>, Error> {
        self.expect('{')?;
        let start = self.at;
        let mut depth = 1;
        while depth > 0 {
            match self.next()?.kind {
                TokenKind::Punct('{') => depth += 1,
                TokenKind::Punct('}') => depth -= 1,
                _ => {}
            }
        }
        Ok(start..self.at - 1)
    }

    /// A kernel; `None` for a declaration without a body.
    fn entry(&mut self, line: u32) -> Result<Option<Entry<'a>>, Error> {
        let name = self.word()?;
        let mut entry = Entry {
            name,
            line,
            end_line: line,
            params: Vec::new(),
            max_threads: None,
            required_threads: None,
            body: Ok(Vec::new()),
        };
        if self.eat('(') && !self.eat(')') {
            loop {
                entry.params.push(self.parameter()?);
                if !self.eat(',') {
                    break;
                }
            }
            self.expect(')')?;
        }
        let bounds = self.launch_bounds(&mut entry);
        while !matches!(self.peek(), None | Some(Token { kind: TokenKind::Punct('{' | ';'), .. })) {
            self.at += 1;
        }
        if self.eat(';') {
            return Ok(None);
        }
        let body = self.skip_braces()?;
        entry.end_line = self.tokens[body.end].line;
        let mut inner = Parser { tokens: &self.tokens[..body.end], at: body.start, depth: 0 };
        entry.body = bounds.and_then(|()| inner.statements());
        Ok(Some(entry))
    }

    /// The performance directives between a kernel's parameters and its body.
    fn launch_bounds(&mut self, entry: &mut Entry<'a>) -> Result<(), Error> {
        while let Some(Token { kind: TokenKind::Word(word), line }) = self.peek() {
            self.at += 1;
            match word {
                ".maxntid" => entry.max_threads = Some(self.extent()?),
                ".reqntid" => entry.required_threads = Some(self.extent()?),
                ".minnctapersm" | ".maxnctapersm" | ".maxnreg" => drop(self.extent()?),
                ".pragma" => self.skip_past(';')?,
                ".noreturn" => {}
                other => return Err(Error::Unsupported { opcode: other.to_owned(), line }),
            }
        }
        Ok(())
    }

    /// One to three numbers; missing ones are 1.
    fn extent(&mut self) -> Result<[u32; 3], Error> {
        let mut extent = [self.count()?, 1, 1];
        for axis in &mut extent[1..] {
            if !self.eat(',') {
                break;
            }
            *axis = self.count()?;
        }
        Ok(extent)
    }

    /// `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[48]`.
    fn parameter(&mut self) -> Result<Variable<'a>, Error> {
        let line = self.line();
        match self.word()? {
            ".param" => self.variable(".param", line, false),
            other => Err(self.syntax(format!("expected `.param`, found `{other}`"))),
        }
    }

    /// A variable's declaration after its state space.
    fn variable(
        &mut self,
        space: &'a str,
        line: u32,
        external: bool,
    ) -> Result<Variable<'a>, Error> {
        let (mut align, mut element, mut pointer) = (None, None, false);
        let name = loop {
            match self.word()? {
                ".align" => {
                    let value = self.count()?;
                    if !value.is_power_of_two() {
                        return Err(self.syntax(format!("an alignment of {value}")));
                    }
                    // After `.ptr` it is the alignment of what is pointed to.
                    align = if pointer { align } else { Some(value) };
                }
                ".ptr" => pointer = true,
                ".global" | ".shared" | ".const" | ".local" if pointer => {}
                word if word.starts_with('.') => match type_bytes(word) {
                    Some(bytes) => element = Some(bytes),
                    None => return Err(self.syntax(format!("unknown type `{word}`"))),
                },
                name => break name,
            }
        };
        let element = element.ok_or_else(|| self.syntax("a variable without a type"))?;
        let mut bytes = u64::from(element);
        let mut unsized_extern = false;
        while self.eat('[') {
            if self.eat(']') {
                unsized_extern = external;
                bytes = 0;
                continue;
            }
            bytes = bytes
                .checked_mul(u64::from(self.count()?))
                .ok_or_else(|| self.syntax("a variable too large to address"))?;
            self.expect(']')?;
        }
        Ok(Variable { name, space, line, align: align.unwrap_or(element), bytes, unsized_extern })
    }

    fn descend(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.syntax(format!("braces nested deeper than {DEEPEST}")));
        }
        Ok(())
    }

    /// Everything up to the end of the tokens or a closing brace.
    fn statements(&mut self) -> Result<Vec<Statement<'a>>, Error> {
        let mut statements = Vec::new();
        while let Some(token) = self.peek() {
            if token.kind == TokenKind::Punct('}') {
                break;
            }
            if let Some(kind) = self.statement()? {
                statements.push(Statement { line: token.line, kind });
            }
        }
        Ok(statements)
    }

    /// One statement; `None` for those that only carry debug information.
    fn statement(&mut self) -> Result<Option<StatementKind<'a>>, Error> {
        let line = self.line();
        if self.eat('{') {
            self.descend()?;
            let inner = self.statements()?;
            self.expect('}')?;
            self.depth -= 1;
            return Ok(Some(StatementKind::Block(inner)));
        }
        if self.eat(';') {
            return Ok(None);
        }
        if self.eat('@') {
            let negated = self.eat('!');
            let guard = Some((self.word()?, negated));
            return self.instruction(guard).map(Some);
        }
        let word = self.word()?;
        match word {
            ".loc" | ".file" => {
                self.at -= 1;
                self.rest_of_line();
                Ok(None)
            }
            ".pragma" => self.skip_past(';').map(|()| None),
            ".reg" => self.registers().map(Some),
            ".shared" | ".local" | ".param" | ".global" | ".const" => {
                let variable = self.variable(word, line, false)?;
                self.end_of_variable()?;
                Ok(Some(StatementKind::Variable(variable)))
            }
            ".extern" => {
                let space = self.word()?;
                let variable = self.variable(space, line, true)?;
                self.expect(';')?;
                Ok(Some(StatementKind::Variable(variable)))
            }
            _ if word.starts_with('.') => {
                Err(Error::Syntax { line, what: format!("unknown directive `{word}`") })
            }
            _ if self.eat(':') => self.label(word).map(Some),
            _ => {
                self.at -= 1;
                self.instruction(None).map(Some)
            }
        }
    }

    fn label(&mut self, name: &'a str) -> Result<StatementKind<'a>, Error> {
        if !self.eat_word(".branchtargets") {
            return Ok(StatementKind::Label(name));
        }
        let mut labels = vec![self.word()?];
        while self.eat(',') {
            labels.push(self.word()?);
        }
        self.expect(';')?;
        Ok(StatementKind::Targets { name, labels })
    }

    fn registers(&mut self) -> Result<StatementKind<'a>, Error> {
        let class = self.word()?;
        let mut names = Vec::new();
        loop {
            let name = self.word()?;
            let mut range = None;
            if self.eat('<') {
                range = Some(self.count()?);
                self.expect('>')?;
            }
            names.push((name, range));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(StatementKind::Registers { class, names })
    }

    fn instruction(&mut self, guard: Option<(&'a str, bool)>) -> Result<StatementKind<'a>, Error> {
        let opcode = self.word()?;
        let mut operands = Vec::new();
        if !self.eat(';') {
            loop {
                operands.push(self.operand()?);
                if !self.eat(',') {
                    break;
                }
            }
            if !self.eat(';') {
                return Err(self.syntax("expected `,` or `;`: expressions are not computed"));
            }
        }
        Ok(StatementKind::Instruction(Instruction { guard, opcode, operands }))
    }

    fn operand(&mut self) -> Result<Operand<'a>, Error> {
        let token = self.next()?;
        match token.kind {
            TokenKind::Word(name) if self.eat('|') => Ok(Operand::Pair(name, self.word()?)),
            TokenKind::Word(name) if self.eat('+') => Ok(Operand::Offset(name, self.integer()?)),
            TokenKind::Word(name) => Ok(Operand::Name(name)),
            TokenKind::Int(value) => Ok(Operand::Int(value)),
            TokenKind::F32(bits) => Ok(Operand::F32(bits)),
            TokenKind::F64(bits) => Ok(Operand::F64(bits)),
            TokenKind::Punct('!') => Ok(Operand::Not(self.word()?)),
            TokenKind::Punct('-') => match self.next()?.kind {
                TokenKind::Int(value) => Ok(Operand::Int(value.wrapping_neg())),
                TokenKind::F64(bits) => Ok(Operand::F64(bits ^ 1 << 63)),
                _ => Err(self.syntax("expected a number after `-`")),
            },
            TokenKind::Punct('[') => self.address(),
            TokenKind::Punct('{') => self.vector(),
            TokenKind::Punct('(') => self.skip_past(')').map(|()| Operand::List),
            _ => {
                self.at -= 1;
                Err(self.syntax("expected an operand"))
            }
        }
    }

    /// An integer with an optional sign.
    fn integer(&mut self) -> Result<i64, Error> {
        let negative = self.eat('-');
        match self.next()?.kind {
            TokenKind::Int(value) if negative => Ok((value as i64).wrapping_neg()),
            TokenKind::Int(value) => Ok(value as i64),
            _ => Err(self.syntax("expected a number")),
        }
    }

    fn address(&mut self) -> Result<Operand<'a>, Error> {
        let (base, offset) = match self.peek().map(|token| token.kind) {
            Some(TokenKind::Word(name)) => {
                self.at += 1;
                let negative = matches!(self.peek(), Some(t) if t.kind == TokenKind::Punct('-'));
                let offset = if negative || self.eat('+') { self.integer()? } else { 0 };
                (Base::Name(name), offset)
            }
            _ => (Base::Absolute, self.integer()?),
        };
        self.expect(']')?;
        Ok(Operand::Address { base, offset })
    }

    fn vector(&mut self) -> Result<Operand<'a>, Error> {
        self.descend()?;
        let mut elements = vec![self.operand()?];
        while self.eat(',') {
            elements.push(self.operand()?);
        }
        self.expect('}')?;
        self.depth -= 1;
        Ok(Operand::Vector(elements))
    }
}

/// The size of a fundamental type such as `.b32`.
fn type_bytes(name: &str) -> Option<u32> {
    Some(match name {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

//! An opcode taken apart at its dots, so that every modifier must be accounted for.

use crate::Error;

/// The kind of a PTX type, without its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Predicate,
}

/// A PTX type such as `.s32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub kind: Kind,
    pub bits: u8,
}

impl Type {
    pub(super) fn parse(name: &str) -> Option<Type> {
        use Kind::*;
        let (kind, bits) = match name {
            "pred" => (Predicate, 1),
            "b8" => (Bits, 8),
            "b16" => (Bits, 16),
            "b32" => (Bits, 32),
            "b64" => (Bits, 64),
            "b128" => (Bits, 128),
            "u8" => (Unsigned, 8),
            "u16" => (Unsigned, 16),
            "u32" => (Unsigned, 32),
            "u64" => (Unsigned, 64),
            "s8" => (Signed, 8),
            "s16" => (Signed, 16),
            "s32" => (Signed, 32),
            "s64" => (Signed, 64),
            "f32" => (Float, 32),
            "f64" => (Float, 64),
            _ => return None,
        };
        Some(Type { kind, bits })
    }

    pub(super) fn is_float(self) -> bool {
        self.kind == Kind::Float
    }

    pub(super) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    pub(super) fn is_predicate(self) -> bool {
        self.kind == Kind::Predicate
    }
}

/// An opcode whose modifiers are taken one by one; [`Opcode::finish`] refuses
/// what nobody took, so that no modifier is ever ignored by accident.
pub(super) struct Opcode<'a> {
    /// As written.
    pub text: &'a str,
    /// The part before the first dot.
    pub base: &'a str,
    pub line: u32,
    rest: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    pub(super) fn new(text: &'a str, line: u32) -> Opcode<'a> {
        let mut parts = text.split('.');
        let base = parts.next().unwrap_or("");
        Opcode { text, base, line, rest: parts.collect() }
    }

    /// The error that says this opcode is not implemented.
    pub(super) fn unsupported(&self) -> Error {
        Error::Unsupported { opcode: self.text.to_owned(), line: self.line }
    }

    /// Takes `modifier` if it is there.
    pub(super) fn take(&mut self, modifier: &str) -> bool {
        match self.rest.iter().position(|part| *part == modifier) {
            Some(at) => {
                self.rest.remove(at);
                true
            }
            None => false,
        }
    }

    /// Takes the first of `modifiers` that is there.
    pub(super) fn take_one_of<T: Copy>(&mut self, modifiers: &[(&str, T)]) -> Option<T> {
        modifiers.iter().find(|(name, _)| self.take(name)).map(|(_, value)| *value)
    }

    /// Takes one of `modifiers`, of which there must be one.
    pub(super) fn take_needed<T: Copy>(&mut self, modifiers: &[(&str, T)]) -> Result<T, Error> {
        self.take_one_of(modifiers).ok_or_else(|| self.unsupported())
    }

    /// Takes every modifier for which `wanted` holds.
    pub(super) fn take_all(&mut self, wanted: impl Fn(&str) -> bool) {
        self.rest.retain(|part| !wanted(part));
    }

    /// Takes the first type.
    pub(super) fn take_type(&mut self) -> Result<Type, Error> {
        let found =
            self.rest.iter().enumerate().find_map(|(at, part)| Some((at, Type::parse(part)?)));
        let (at, kind) = found.ok_or_else(|| self.unsupported())?;
        self.rest.remove(at);
        Ok(kind)
    }

    /// Takes the first type, which may be `.f16` too: numbers that are converted, and have no other arithmetic here.
    pub(super) fn take_converted_type(&mut self) -> Result<Type, Error> {
        let types = |part: &str| part == "f16" || Type::parse(part).is_some();
        match self.rest.iter().position(|part| types(part)) {
            Some(at) if self.rest[at] == "f16" => {
                self.rest.remove(at);
                Ok(Type { kind: Kind::Float, bits: 16 })
            }
            _ => self.take_type(),
        }
    }

    /// Refuses the opcode if a modifier is left.
    pub(super) fn finish(&self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.unsupported()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_takes_is_refused() {
        let mut op = Opcode::new("add.sat.s32", 7);
        assert_eq!(op.take_type().unwrap(), Type { kind: Kind::Signed, bits: 32 });
        let refused = op.finish().unwrap_err();
        assert_eq!(refused, Error::Unsupported { opcode: "add.sat.s32".into(), line: 7 });
        assert!(op.take("sat"));
        op.finish().unwrap();
    }

    #[test]
    fn halves_are_only_converted() {
        let mut op = Opcode::new("cvt.rn.f16.f32", 1);
        assert!(op.take("rn"));
        assert_eq!(op.take_converted_type().unwrap(), Type { kind: Kind::Float, bits: 16 });
        assert_eq!(op.take_converted_type().unwrap(), Type { kind: Kind::Float, bits: 32 });
        assert!(Opcode::new("add.f16", 1).take_type().is_err());
    }

    #[test]
    fn two_types_come_in_order() {
        let mut op = Opcode::new("cvt.u64.s32", 1);
        assert_eq!(op.take_type().unwrap().bits, 64);
        assert!(op.take_type().unwrap().is_signed());
        assert!(op.take_type().is_err());
    }
}

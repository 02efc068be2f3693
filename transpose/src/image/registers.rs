//! The numbers of a PTX's registers and labels, back from how they are packed.
//!
//! A compiler numbers the registers of a kernel one after the other, so that code which differs in nothing but its registers' numbers is all over a text, and a compressor
//! does not see that it is alike. In a packed text a number says how far it is from the one before it of its kind, in bytes that no PTX has: alike code is alike there, and
//! a packed text is smaller by a third.
//!
//! Such a byte has its first bit set, the second one if more follow, and six bits of the distance, the lowest ones first; the distance is `2 · d`, or `-2 · d - 1` where it is negative. The kind of a number is
//! the name that it ends: the small letters behind `%`, or `_` as in labels.

/// The bit that says that a byte is part of a distance.
pub const IS_PART: u8 = 0x80;

/// The bit that says that another part follows.
pub const GOES_ON: u8 = 0x40;

/// How many bits of a distance a part has.
pub const BITS: u32 = 6;

/// Letters that a kind has at most: names that are longer have no distances.
const MOST_LETTERS: usize = 7;

/// The kind of number that may follow, as a number itself; `None` where none may.
pub fn kind(text: &[u8]) -> Option<u64> {
    if text.ends_with(b"_") {
        return Some(0);
    }
    let before = text.iter().rposition(|letter| !letter.is_ascii_lowercase())?;
    let letters = text.get(before + 1..)?;
    let is_name = text.get(before) == Some(&b'%') && (1..=MOST_LETTERS).contains(&letters.len());
    is_name.then(|| letters.iter().fold(0, |all, &letter| all << 8 | u64::from(letter)))
}

/// The last number of each kind, 0 at first.
#[derive(Default)]
pub struct Last(Vec<(u64, u32)>);

impl Last {
    /// The last number of one kind.
    pub fn of(&mut self, kind: u64) -> &mut u32 {
        let at = self.0.iter().position(|&(other, _)| other == kind);
        let at = at.unwrap_or_else(|| {
            self.0.push((kind, 0));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// The PTX that `packed` tells, with a number for each distance; `None` if `packed` is damaged, or the PTX has more than `largest` bytes.
pub fn numbered(packed: &[u8], largest: usize) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(packed.len() + packed.len() / 4);
    let mut last = Last::default();
    let mut rest = packed;
    while let Some(&first) = rest.first() {
        if first & IS_PART == 0 {
            let plain = rest.iter().position(|byte| byte & IS_PART != 0).unwrap_or(rest.len());
            text.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            continue;
        }
        let last = last.of(kind(&text)?);
        *last = last.checked_add_signed(distance(&mut rest)?)?;
        text.extend_from_slice(last.to_string().as_bytes());
        if text.len() > largest {
            return None;
        }
    }
    Some(text).filter(|text| text.len() <= largest)
}

/// The distance that `rest` begins with; `rest` begins behind it afterwards.
fn distance(rest: &mut &[u8]) -> Option<i32> {
    let (mut folded, mut shift) = (0u32, 0);
    loop {
        let (&part, behind) = rest.split_first()?;
        let bits = u32::from(part & (GOES_ON - 1));
        if part & IS_PART == 0 || shift >= u32::BITS || bits << shift >> shift != bits {
            return None;
        }
        folded |= bits << shift;
        *rest = behind;
        if part & GOES_ON == 0 {
            return Some((folded >> 1) as i32 ^ -((folded & 1) as i32));
        }
        shift += BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbers_are_what_they_are_from_the_ones_before() {
        let packed = b"mov %r\x8a, %r\x81; @%p\x82 bra $L__BB0_\xc0\x81; %r\x80 %tid.x";
        let text = "mov %r5, %r4; @%p1 bra $L__BB0_32; %r4 %tid.x";
        assert_eq!(numbered(packed, 100).unwrap(), text.as_bytes());
        assert!(numbered(packed, text.len() - 1).is_none());
    }

    #[test]
    fn what_no_text_is_packed_as_is_refused() {
        for damaged in [
            &b"\x80"[..],
            b"r\x80",
            b"%\x80",
            b"%r\x81",
            b"%r\xc0",
            b"%r\xc01",
            b"%r\xff\xff\xff\xff\xff\xff\x80",
            b"%muchtoolong\x80",
        ] {
            assert!(numbered(damaged, 100).is_none(), "{damaged:?}");
        }
        assert_eq!(numbered(b"", 0).unwrap(), b"");
    }
}

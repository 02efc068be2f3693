//! The numbers of a PTX's registers and labels, as how far each is from the one before of its kind: the library says why, and how
//! (`transpose/src/image/registers.rs`).

use super::numbers::{BITS, GOES_ON, IS_PART, Last, kind};
use anyhow::{Result, ensure};

/// A PTX with a distance in place of each number of a register, label or parameter.
pub fn distances(text: &[u8]) -> Result<Vec<u8>> {
    ensure!(text.is_ascii(), "a PTX with bytes that distances are told by");
    let mut packed = Vec::with_capacity(text.len());
    let mut last = Last::default();
    let mut at = 0;
    while at < text.len() {
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            packed.push(text[at]);
            at += 1;
            continue;
        }
        let (before, rest) = text.split_at(at);
        at += digits;
        // What would have other digits, or is no number of a register, stays as it is.
        let number = std::str::from_utf8(&rest[..digits])?.parse::<u32>().ok();
        let number =
            number.filter(|number| *number < 1 << 30 && number.to_string().len() == digits);
        match (kind(before), number) {
            (Some(kind), Some(number)) => {
                let last = last.of(kind);
                push(&mut packed, number as i32 - *last as i32);
                *last = number;
            }
            _ => packed.extend_from_slice(&rest[..digits]),
        }
    }
    Ok(packed)
}

/// Appends a distance.
fn push(packed: &mut Vec<u8>, distance: i32) {
    let mut folded = ((distance << 1) ^ (distance >> 31)) as u32;
    loop {
        let part = IS_PART | (folded as u8 & (GOES_ON - 1));
        folded >>= BITS;
        if folded == 0 {
            packed.push(part);
            return;
        }
        packed.push(part | GOES_ON);
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::numbered;
    use super::distances;

    #[test]
    fn numbers_come_back() {
        for text in [
            "",
            "mov %r5, %r4; @%p1 bra $L__BB0_32; %r4 %r07 %tid.x %envreg3 %clock64 [%SP+8] 12_3 %r<100>",
            "%rd1073741823 %rd0 %rd1073741824 %rd99999999999 %r1 %rd2 %verylongname3 _param_0 %4 %",
        ] {
            let packed = distances(text.as_bytes()).unwrap();
            assert_eq!(numbered(&packed, 1000).unwrap(), text.as_bytes(), "{packed:?}");
        }
        assert!(distances("%r1 é".as_bytes()).is_err());
    }
}

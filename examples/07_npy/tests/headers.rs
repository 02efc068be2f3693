//! What headers say, and that those which say nothing are refused in time.

#[path = "../dtype.rs"]
mod dtype;
#[path = "../header.rs"]
mod header;
#[path = "../literal.rs"]
mod literal;

use header::{Header, tuple};

/// A header of a version around a dictionary.
fn file(version: u8, text: &[u8]) -> Vec<u8> {
    let length = (text.len() as u32).to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length[..] };
    [&b"\x93NUMPY"[..], &[version, 0], length, text].concat()
}

fn of_descr(descr: &str) -> anyhow::Result<Header> {
    let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2, 3), }}");
    Header::read(&mut &file(2, text.as_bytes())[..])
}

#[test]
fn every_dtype_that_numpy_stores_has_its_width() {
    // As `numpy.lib.format.dtype_to_descr` writes them, and `numpy.dtype.itemsize`.
    for (descr, bytes) in [
        ("'|b1'", 1),
        ("'|i1'", 1),
        ("'>u2'", 2),
        ("'<f2'", 2),
        ("'<f16'", 16),
        ("'<c32'", 32),
        ("'|S5'", 5),
        ("'<U7'", 28),
        ("'|V3'", 3),
        ("'|V6'", 6),
        ("'|V12'", 12),
        ("'|V0'", 0),
        ("'<V2'", 2),
        ("'<M8'", 8),
        ("'<M8[ns]'", 8),
        ("'>m8[25us]'", 8),
        ("[]", 0),
        ("[('a', '|i1'), ('', '|V7'), ('b', '<f8')]", 16),
        ("[('a', '<i4', (2, 3)), ('b', '|S3', 2)]", 30),
        ("[(('a title', 'a'), '<f4'), (('it\\'s', \"b\"), '>i2')]", 6),
        ("[((None, 'a'), '<f4')]", 4),
        ("[('p', [('x', '<f8'), ('t', '<M8[D]', (4,))], (2,)), ('z', '|u1')]", 81),
        ("('<i4', (3, 2))", 24),
        ("[('a', '<i4', (3L,))]", 12),
    ] {
        let header = of_descr(descr).unwrap_or_else(|error| panic!("{descr}: {error:#}"));
        assert_eq!(header.element_bytes, bytes, "{descr}");
        assert_eq!(header.descr, descr);
    }
}

#[test]
fn dtypes_without_bytes_are_refused() {
    for descr in ["'|O'", "'O8'", "[('a', '<i4'), ('b', '|O')]", "[('a', [('b', '|O')], (2,))]"] {
        let error = format!("{:#}", of_descr(descr).unwrap_err());
        assert!(error.contains("Python objects"), "{descr}: {error}");
    }
    for descr in [
        "''",
        "'<'",
        "'é4'",
        "'f'",
        "'<f8[ns]'",
        "'<M8[ns'",
        "'<x4'",
        "'<f-8'",
        "None",
        "3",
        "{}",
        "[3]",
        "[('a',)]",
        "('<i4',)",
        "[('a', '<i4', (-1,))]",
        "[('a', '<i4', '2')]",
        "'|V99999999999999999999'",
        "[('a', '|V9', (4294967295, 4294967295))]",
        "'<U9223372036854775807'",
    ] {
        assert!(of_descr(descr).is_err(), "{descr}");
    }
}

#[test]
fn names_are_latin_1_before_version_3_and_utf_8_in_it() {
    let text = |name: &[u8]| {
        [b"{'descr': [('", name, b"', '<i4')], 'fortran_order': True, 'shape': (5,), }"].concat()
    };
    for (version, name, read) in [
        (1, &b"\xe9"[..], "é"),
        (2, b"\xe9", "é"),
        (1, b"\xc3\xa9", "Ã©"),
        (3, b"\xc3\xa9", "é"),
        (3, b"\xce\xbb", "λ"),
    ] {
        let header = Header::read(&mut &file(version, &text(name))[..]).unwrap();
        assert_eq!(header.descr, format!("[('{read}', '<i4')]"));
        assert!(header.fortran && header.shape == [5]);
        // What is written says the same, in the lowest version that can.
        let written = header.to_bytes();
        assert_eq!(written[6], if read == "λ" { 3 } else { 1 });
        assert_eq!(Header::read(&mut &written[..]).unwrap(), header);
    }
    assert!(Header::read(&mut &file(3, &text(b"\xe9"))[..]).is_err());
}

#[test]
fn a_header_is_written_as_numpy_writes_it() {
    // `numpy.save` of `numpy.zeros((1000,), "<f8")`, but for the room that it leaves for the array to grow.
    let shape = vec![1000];
    let header = Header { descr: "'<f8'".to_owned(), element_bytes: 8, fortran: false, shape };
    let text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000,), }";
    let bytes = header.to_bytes();
    assert_eq!(&bytes[..10 + text.len()], &[b"\x93NUMPY\x01\x00\x76\x00", &text[..]].concat());
    assert_eq!((bytes.len(), bytes[bytes.len() - 1]), (128, b'\n'));
    assert_eq!([tuple(&[]), tuple(&[7]), tuple(&[7, 8])], ["()", "(7,)", "(7, 8)"]);
}

#[test]
fn long_headers_have_longer_lengths() {
    let fields: Vec<String> = (0..5000).map(|n| format!("('field number {n}', '<f4')")).collect();
    let header = of_descr(&format!("[{}]", fields.join(", "))).unwrap();
    assert_eq!(header.element_bytes, 20_000);
    let written = header.to_bytes();
    assert_eq!((written[6], written.len() % 64), (2, 0));
    assert_eq!(Header::read(&mut &written[..]).unwrap(), header);
    // Around the longest that version 1 can say.
    for length in 65_300..65_600 {
        let descr = format!("[('{}', '<f4')]", "x".repeat(length));
        let header = of_descr(&descr).unwrap();
        assert_eq!(Header::read(&mut &header.to_bytes()[..]).unwrap(), header);
    }
}

#[test]
fn python_2_wrote_long_integers() {
    let text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10L, 3L), }";
    assert_eq!(Header::read(&mut &file(1, text)[..]).unwrap().shape, [10, 3]);
}

#[test]
fn brackets_cost_what_their_number_is() {
    // Each of these once took time that doubled with every bracket.
    for open in ["[", "(", "{", "{'a':", "[(", "('a',"] {
        for count in [30, 199, 250, 300_000 / open.len()] {
            let text = format!("{{'descr': {}", open.repeat(count));
            assert!(Header::read(&mut &file(2, text.as_bytes())[..]).is_err());
        }
    }
    // Structures in structures, as deep as Python reads them.
    let nested = |depth: usize| {
        let (open, close) = ("[('a', ".repeat(depth), ")]".repeat(depth));
        of_descr(&format!("{open}'<i4'{close}"))
    };
    assert_eq!(nested(12).unwrap().element_bytes, 4);
    assert_eq!(nested(99).unwrap().element_bytes, 4);
    assert!(nested(120).is_err());
}

#[test]
fn damaged_headers_are_refused() {
    let good = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
    let whole = file(1, good);
    for length in 0..whole.len() {
        assert!(Header::read(&mut &whole[..length]).is_err(), "{length} bytes");
    }
    for text in [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3.0)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f8', 'shape': (2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "['descr']",
        "",
    ] {
        assert!(Header::read(&mut &file(2, text.as_bytes())[..]).is_err(), "{text}");
    }
    // A version that nobody has defined, and a length that no header has.
    assert!(Header::read(&mut &file(4, good)[..]).is_err());
    let endless = [&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], good].concat();
    assert!(Header::read(&mut &endless[..]).is_err());
}

#[test]
fn sizes_that_overflow_are_errors() {
    let of = |shape: &[usize], element_bytes| {
        let descr = String::new();
        Header { descr, element_bytes, fortran: false, shape: shape.to_vec() }.bytes().ok()
    };
    assert_eq!(of(&[3, 4], 6), Some(72));
    assert_eq!(of(&[], 6), Some(6));
    assert_eq!(of(&[usize::MAX, 0, usize::MAX], 6), Some(0));
    assert_eq!(of(&[usize::MAX, usize::MAX], 0), Some(0));
    assert_eq!((of(&[usize::MAX, 2], 1), of(&[usize::MAX], 1)), (None, None));
}

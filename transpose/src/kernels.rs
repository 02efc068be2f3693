//! The images of the library's own kernels, and how a row of the table becomes an entry point.

use crate::image::{EntryPoint, Image, MachineCode};
use crate::{Error, Result};
pub(crate) use kernel_abi::Width;
use kernel_abi::{Family, Kernel, Params};

/// A file of machine code: the compute capability, the file's name, whether its kernels wait by themselves, and whether they evict last
/// what they load.
macro_rules! code {
    ($major:literal $minor:literal, $file:expr) => {
        code!($major $minor, $file, waits: false, evict_last: false)
    };
    ($major:literal $minor:literal, $file:expr, waits: $waits:literal, evict_last: $evict_last:literal) => {
        MachineCode {
            capability: ($major, $minor),
            waits: $waits,
            evict_last: $evict_last,
            packed: include_bytes!($file),
        }
    };
}

/// The image of a family: its PTX, and its machine code, which is packed as the ending of the files says. What is made for compute
/// capability 9.0 differs from family to family.
macro_rules! image {
    ($family:literal, $ending:literal, [$($hopper:expr),+]) => {
        Image::packed(
            $family,
            include_bytes!(concat!("../ptx/", $family, ".ptx.lzma")),
            &[
                // Few have such a chip: a millisecond more for its first launch is better than 34 KB in every program.
                code!(7 5, concat!("../cubin/", $family, ".sm_75.cubin.lzma")),
                code!(8 0, concat!("../cubin/", $family, ".sm_80.cubin.", $ending)),
                $($hopper,)+
                code!(10 0, concat!("../cubin/", $family, ".sm_100.cubin.", $ending)),
                code!(12 0, concat!("../cubin/", $family, ".sm_120.cubin.", $ending)),
            ],
        )
    };
}

/// The image of a family that is large or rarely asked for: no machine code for the chip that few have, which compiles the PTX.
macro_rules! rare_image {
    ($family:literal) => {
        Image::packed(
            $family,
            include_bytes!(concat!("../ptx/", $family, ".ptx.lzma")),
            &[
                code!(8 0, concat!("../cubin/", $family, ".sm_80.cubin.lzma")),
                code!(9 0, concat!("../cubin/", $family, ".sm_90.cubin.lzma"), waits: true, evict_last: true),
                code!(10 0, concat!("../cubin/", $family, ".sm_100.cubin.lzma")),
                code!(12 0, concat!("../cubin/", $family, ".sm_120.cubin.lzma")),
            ],
        )
    };
}

static CLASSIC: Image =
    image!("classic", "lzma", [code!(9 0, "../cubin/classic.sm_90.cubin.lzma")]);

static FAST: Image = image!(
    "fast",
    "lz4",
    [
        code!(9 0, "../cubin/fast.sm_90.cubin.lz4", waits: true, evict_last: false),
        // For moves of 32 MiB and more, beside which a millisecond more for the first launch is little.
        code!(9 0, "../cubin/fast_evict_last.sm_90.cubin.lzma", waits: true, evict_last: true)
    ]
);

static IN_PLACE: Image = image!(
    "in_place",
    "lzma",
    [code!(9 0, "../cubin/in_place.sm_90.cubin.lzma", waits: true, evict_last: true)]
);

static TENSOR: Image = image!(
    "tensor",
    "lzma",
    [code!(9 0, "../cubin/tensor.sm_90.cubin.lzma", waits: true, evict_last: true)]
);

static ARITHMETIC_ROWS: Image = rare_image!("arithmetic_rows");
static ARITHMETIC_PIXELS: Image = rare_image!("arithmetic_pixels");
static ARITHMETIC_MATRICES: Image = rare_image!("arithmetic_matrices");
static ARITHMETIC_TENSORS: Image = rare_image!("arithmetic_tensors");

#[cfg(feature = "in_place_studies")]
static IN_PLACE_STUDIES: Image = rare_image!("in_place_studies");

/// The image of a family that moves from one memory to another, which is in every program that does so.
const fn image(family: Family) -> Option<&'static Image> {
    match family {
        Family::Classic => Some(&CLASSIC),
        Family::Fast => Some(&FAST),
        Family::Tensor => Some(&TENSOR),
        // What else there is has plans of its own, which alone refer to it; crates/study launches the kernels of the texts itself.
        _ => None,
    }
}

/// The image of a family that plans in place launch, if this library has it. Only they refer to the kernels in place, so that other programs are not linked with them.
const fn image_in_place(family: Family) -> Option<&'static Image> {
    match family {
        Family::InPlace => Some(&IN_PLACE),
        #[cfg(feature = "in_place_studies")]
        Family::InPlaceStudies => Some(&IN_PLACE_STUDIES),
        _ => image(family),
    }
}

/// The image of a family that computes on the way. Only plans that compute refer to these, so that other programs are not linked with them.
const fn image_that_computes(family: Family) -> Option<&'static Image> {
    match family {
        Family::ArithmeticRows => Some(&ARITHMETIC_ROWS),
        Family::ArithmeticPixels => Some(&ARITHMETIC_PIXELS),
        Family::ArithmeticMatrices => Some(&ARITHMETIC_MATRICES),
        Family::ArithmeticTensors => Some(&ARITHMETIC_TENSORS),
        _ => None,
    }
}

/// The image of a family, if this library has it.
fn image_of_any(family: Family) -> Option<&'static Image> {
    image_in_place(family).or_else(|| image_that_computes(family))
}

/// The images of every family that this library has.
pub(crate) fn images() -> impl Iterator<Item = &'static Image> {
    Family::ALL.into_iter().filter_map(image_of_any)
}

/// The entry point of a kernel for elements of `width`, of those that move from one memory to another.
///
/// # Errors
/// [`Error::ElementSize`] for a width that the kernel does not exist for here.
pub(crate) fn entry<P: Params>(kernel: &Kernel<P>, width: Width) -> Result<EntryPoint> {
    entry_of(kernel, width, image)
}

/// The entry point of a kernel for elements of `width`, of those that plans in place launch.
///
/// # Errors
/// As [`entry`].
pub(crate) fn entry_in_place<P: Params>(kernel: &Kernel<P>, width: Width) -> Result<EntryPoint> {
    entry_of(kernel, width, image_in_place)
}

/// The entry point of a kernel for elements of `width`, of those that plans that compute launch.
///
/// # Errors
/// As [`entry`].
pub(crate) fn entry_that_computes<P: Params>(
    kernel: &Kernel<P>,
    width: Width,
) -> Result<EntryPoint> {
    entry_of(kernel, width, image_that_computes)
}

fn entry_of<P: Params>(
    kernel: &Kernel<P>,
    width: Width,
    image: impl Fn(Family) -> Option<&'static Image>,
) -> Result<EntryPoint> {
    let entry = kernel.entry(width).and_then(|entry| Some(image(entry.family)?.entry(entry.name)));
    entry.ok_or(Error::ElementSize { bytes: width.bytes() })
}

/// The width of an element that is one word of its kernels.
///
/// # Errors
/// [`Error::ElementSize`] for an element of another size.
pub(crate) fn width_of_bytes(bytes: usize) -> Result<Width> {
    Width::of_bytes(bytes).ok_or(Error::ElementSize { bytes })
}

/// The widest word that divides all of the numbers of bytes.
pub(crate) fn width_dividing(bytes: impl IntoIterator<Item = usize>) -> Width {
    let all = bytes.into_iter().fold(16, |all, bytes| all | bytes);
    Width::ALL[(all.trailing_zeros() as usize).min(4)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_abi::{Block, Entry};
    use std::collections::HashSet;

    /// The compute capabilities that files are for, and the assembler's names of them.
    const CHIPS: [((i32, i32), &str); 5] = [
        ((7, 5), "sm_75"),
        ((8, 0), "sm_80"),
        ((9, 0), "sm_90"),
        ((10, 0), "sm_100"),
        ((12, 0), "sm_120"),
    ];

    #[test]
    fn machine_code_is_of_its_chip_and_has_every_kernel() {
        for image in images() {
            let ptx = image.ptx();
            let kernels: Vec<_> = entry_points(&ptx).collect();
            assert!(!kernels.is_empty());
            for (capability, chip) in CHIPS {
                let name = image.name();
                let is_rare = name.starts_with("arithmetic") || name == "in_place_studies";
                if is_rare && capability == (7, 5) {
                    assert!(image.code(capability, true).is_none(), "the PTX serves it");
                    continue;
                }
                for evict_last in [false, true] {
                    let code = image.code(capability, evict_last).expect("each chip has code");
                    check(&code.expanded().expect("it is intact"), chip, &kernels);
                }
            }
        }
    }

    /// Checks that machine code is for a chip and has the kernels.
    fn check(code: &[u8], chip: &str, kernels: &[&str]) {
        assert!(code.starts_with(b"\x7fELF"), "{kernels:?} on {chip}");
        let strings: HashSet<_> = code.split(|&byte| byte == 0).collect();
        // The assembler notes its options, and makes each kernel a section.
        let option = format!("-arch {chip} ");
        let noted = strings.iter().any(|string| string.ends_with(option.as_bytes()));
        assert!(noted, "{kernels:?} are not for {chip}");
        for kernel in kernels {
            let section = format!(".text.{kernel}");
            assert!(strings.contains(section.as_bytes()), "{kernel} on {chip}");
        }
    }

    /// The names of a PTX's kernels.
    fn entry_points(ptx: &str) -> impl Iterator<Item = &str> {
        ptx.split(".entry ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.0))
    }

    /// The table and the PTX have the same entry points, and the PTX says what blocks the table names.
    #[test]
    fn the_ptx_is_what_the_table_says() {
        let tables: [(Family, &[&[Entry]]); 9] = [
            (Family::Classic, kernel_abi::classic::CLASSIC),
            (Family::Fast, kernel_abi::fast::FAST),
            (Family::InPlace, kernel_abi::in_place::IN_PLACE),
            (Family::InPlaceStudies, kernel_abi::in_place::STUDIES),
            (Family::Tensor, kernel_abi::tensor::TENSOR),
            (Family::ArithmeticRows, kernel_abi::arithmetic::ARITHMETIC_ROWS),
            (Family::ArithmeticPixels, kernel_abi::arithmetic::ARITHMETIC_PIXELS),
            (Family::ArithmeticMatrices, kernel_abi::arithmetic::ARITHMETIC_MATRICES),
            (Family::ArithmeticTensors, kernel_abi::arithmetic::ARITHMETIC_TENSORS),
        ];
        for (family, kernels) in tables {
            let Some(image) = image_of_any(family) else { continue };
            let ptx = image.ptx();
            let built: HashSet<_> = entry_points(&ptx).collect();
            let entries = kernels.iter().flat_map(|entries| entries.iter());
            let named: HashSet<_> = entries.clone().map(|entry| entry.name).collect();
            assert_eq!(built, named, "{family:?}");
            for entry in entries {
                let directive = match entry.block {
                    Block::Exactly([x, y, z]) => format!(".reqntid {x}, {y}, {z}\n"),
                    Block::AtMost(threads) => format!(".maxntid {threads}\n"),
                    Block::Within(_) => String::new(),
                };
                let (_, rest) =
                    ptx.split_once(&format!(".entry {}(", entry.name)).expect("it is built");
                let (head, _) = rest.split_once("\n{").expect("it has a body");
                assert!(format!("{head}\n").contains(&directive), "{} {directive}", entry.name);
            }
        }
    }
}

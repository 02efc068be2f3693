//! From an element's width, which users name, to a type, which functions want.

/// `with_element!(bytes, T => code)` is the code with `T` as the unsigned integer of that width; other
/// widths than 1, 2, 4, 8 and 16 are an error that the function returns, or what a third argument says:
/// `other => code`.
#[macro_export]
macro_rules! with_element {
    ($bytes:expr, $element:ident => $code:expr) => {
        $crate::with_element!($bytes, $element => $code, bytes => {
            anyhow::bail!("elements are of 1, 2, 4, 8 or 16 bytes, not of {bytes}")
        })
    };
    ($bytes:expr, $element:ident => $code:expr, $other:ident => $otherwise:expr) => {
        match $bytes {
            1 => $crate::with_element!(@as u8, $element => $code),
            2 => $crate::with_element!(@as u16, $element => $code),
            4 => $crate::with_element!(@as u32, $element => $code),
            8 => $crate::with_element!(@as u64, $element => $code),
            16 => $crate::with_element!(@as u128, $element => $code),
            $other => $otherwise,
        }
    };
    (@as $type:ty, $element:ident => $code:expr) => {{
        type $element = $type;
        $code
    }};
}

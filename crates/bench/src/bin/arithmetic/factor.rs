//! Factors of all types of numbers.

/// A factor.
pub trait FromF32: Copy {
    fn of(value: f32) -> Self;
}

impl FromF32 for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl FromF32 for f64 {
    fn of(value: f32) -> Self {
        f64::from(value)
    }
}

impl FromF32 for [f32; 2] {
    fn of(value: f32) -> Self {
        [value, 0.0]
    }
}

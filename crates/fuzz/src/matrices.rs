//! Layouts × strategies × sizes, out of place and in place, on the simulator with all its checks, against plain loops.

use bolero::TypeGenerator;
use transpose::{Device, DeviceMatrix, Error, InPlace, Strategy};
use transpose_tests::{Case, Element, check, simulator, simulator_of_talking_blocks};

/// A matrix, and what is to be done with it.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Problem {
    element: Size,
    how: How,
    rows: Length,
    cols: Length,
    #[generator(0..40)]
    src_slack: usize,
    #[generator(0..40)]
    dst_slack: usize,
    #[generator(0..40)]
    src_offset: usize,
    #[generator(0..40)]
    dst_offset: usize,
}

/// The size of an element.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Size {
    B1,
    B2,
    B3,
    B4,
    B6,
    B8,
    B12,
    B16,
    B20,
}

/// Mostly short, and long enough now and then for tiles that are whole.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Length {
    Short(#[generator(0..20)] usize),
    Middle(#[generator(0..70)] usize),
    Long(#[generator(0..300)] usize),
}

#[derive(Clone, Copy, Debug, TypeGenerator)]
enum How {
    OutOfPlace(u8),
    InPlace(u8),
}

impl Problem {
    fn lengths(&self) -> (usize, usize) {
        let number = |length: Length| match length {
            Length::Short(length) | Length::Middle(length) | Length::Long(length) => length,
        };
        let (rows, cols) = (number(self.rows), number(self.cols));
        // Two long ones take the simulator too long.
        (rows, if rows * cols > 1 << 13 { cols % 20 } else { cols })
    }

    fn run<T: Element>(&self) {
        match self.how {
            How::OutOfPlace(which) => self.out_of_place::<T>(of(Strategy::ALL, which)),
            How::InPlace(which) => self.in_place::<T>(of(InPlace::ALL, which)),
        }
    }

    fn out_of_place<T: Element>(&self, strategy: Strategy) {
        let (rows, cols) = self.lengths();
        let &Problem { src_slack, dst_slack, src_offset, dst_offset, .. } = self;
        let case = Case { rows, cols, src_slack, dst_slack, src_offset, dst_offset };
        let device = simulator().expect("it is always there");
        let word = matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 16);
        let strategy = if word { strategy } else { Strategy::Auto };
        check::<T>(&device, case, |src, dst| {
            src.transpose_into_with(dst, strategy).expect("any matrix is served");
        });
    }

    fn in_place<T: Element>(&self, algorithm: InPlace) {
        let (rows, cols) = self.lengths();
        let device: Device = simulator_of_talking_blocks().expect("it is always there");
        let host: Vec<T> = (0..rows * cols).map(|index| T::scrambled(index, 7)).collect();
        let mut matrix = DeviceMatrix::from_host(&device, rows, cols, &host).expect("it is small");
        match matrix.transpose_in_place_with(algorithm) {
            Err(Error::NotServed { .. }) if algorithm != InPlace::Auto => return,
            done => done.expect("any matrix is served"),
        }
        assert_eq!((matrix.nrows(), matrix.ncols()), (cols, rows));
        let actual = matrix.to_host().expect("it can be read");
        let wrong = (0..host.len()).find(|&at| actual[at] != host[at % rows * cols + at / rows]);
        assert_eq!(wrong, None, "{algorithm} {rows} × {cols} of {} bytes", size_of::<T>());
    }
}

fn of<T: Copy>(all: &[T], which: u8) -> T {
    all[usize::from(which) % all.len()]
}

/// Solves the problem, and compares.
pub fn run(problem: &Problem) {
    match problem.element {
        Size::B1 => problem.run::<u8>(),
        Size::B2 => problem.run::<u16>(),
        Size::B3 => problem.run::<[u8; 3]>(),
        Size::B4 => problem.run::<u32>(),
        Size::B6 => problem.run::<[u16; 3]>(),
        Size::B8 => problem.run::<u64>(),
        Size::B12 => problem.run::<[u32; 3]>(),
        Size::B16 => problem.run::<u128>(),
        Size::B20 => problem.run::<[u32; 5]>(),
    }
}

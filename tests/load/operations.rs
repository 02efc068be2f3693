//! One operation at random, on streams at random, with its result compared to what plain loops say.

use transpose::{
    Device, DeviceMatrix, DeviceTensor, Error, Graph, InPlace, PinnedBuffer, Strategy,
};
use transpose_tests::Element;

/// The most elements of a problem.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub elements: usize,
}

/// Numbers that look random and are the same each time.
pub struct Dice {
    seed: u64,
    rolled: usize,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice { seed: u64::scrambled(0, seed), rolled: 0 }
    }

    fn roll(&mut self) -> u64 {
        self.rolled += 1;
        u64::scrambled(self.rolled, self.seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Rows and columns of a matrix of so many elements at most; small ones and skinny ones are as likely as large ones.
    fn shape(&mut self, most: usize) -> (usize, usize) {
        let bits = most.ilog2() as usize;
        let all = self.below(bits + 1);
        let rows = self.below(all + 1);
        let (rows, cols) = (1usize << rows, 1usize << (all - rows));
        (rows - self.below(rows.div_ceil(2)), cols - self.below(cols.div_ceil(2)))
    }
}

/// One operation, of elements of one of many sizes.
pub fn operate(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let of = *dice.one_of(&[
        operate_of::<u8>,
        operate_of::<u16>,
        operate_of::<u32>,
        operate_of::<u64>,
        operate_of::<u128>,
        operate_of::<[u8; 3]>,
        operate_of::<[u16; 3]>,
        operate_of::<[u32; 5]>,
    ]);
    of(dice, streams, sizes);
}

fn operate_of<T: Element>(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let operation = *dice.one_of(&[
        out_of_place::<T>,
        out_of_place::<T>,
        in_place::<T>,
        in_place::<T>,
        axes::<T>,
        axes::<T>,
        pinned::<T>,
        replayed::<T>,
    ]);
    operation(dice, streams, sizes);
}

fn scrambled<T: Element>(len: usize, salt: u64) -> Vec<T> {
    (0..len).map(|index| T::scrambled(index, salt)).collect()
}

/// What a matrix is when it is transposed.
fn transposed<T: Copy>((rows, cols): (usize, usize), elements: &[T]) -> Vec<T> {
    (0..rows * cols).map(|at| elements[at % rows * cols + at / rows]).collect()
}

fn expect<T: Element>(actual: &[T], expected: &[T], what: &str) {
    let wrong = actual.iter().zip(expected).position(|(a, b)| a != b);
    assert!(
        wrong.is_none() && actual.len() == expected.len(),
        "{what}: element {wrong:?} is wrong"
    );
}

/// From one stream to another, and then to a third, by any strategy.
fn out_of_place<T: Element>(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let (rows, cols) = dice.shape(sizes.elements);
    let host = scrambled::<T>(rows * cols, dice.roll());
    let strategy = *dice.one_of(Strategy::ALL);
    let [from, to, then] = [(); 3].map(|()| dice.one_of(streams));
    let src = DeviceMatrix::from_host(from, rows, cols, &host).unwrap();
    let mut dst = DeviceMatrix::zeroed_with_ld(to, cols, rows, rows + dice.below(9)).unwrap();
    match src.transpose_into_with(&mut dst, strategy) {
        Err(Error::ElementSize { .. }) if strategy != Strategy::Auto => {
            src.transpose_into(&mut dst).unwrap();
        }
        done => done.unwrap(),
    }
    drop(src);
    dst.move_to_stream(then).unwrap();
    let what = format!("{strategy} {rows} × {cols} of {} bytes", size_of::<T>());
    expect(&dst.to_host().unwrap(), &transposed((rows, cols), &host), &what);
}

fn in_place<T: Element>(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let (rows, cols) = dice.shape(sizes.elements);
    let host = scrambled::<T>(rows * cols, dice.roll());
    let mut matrix = DeviceMatrix::from_host(dice.one_of(streams), rows, cols, &host).unwrap();
    let algorithm = *dice.one_of(&[InPlace::Auto, InPlace::TwoStage, InPlace::Decomposed]);
    match matrix.transpose_in_place_with(algorithm) {
        Err(Error::NotServed { .. }) if algorithm != InPlace::Auto => {
            matrix.transpose_in_place().unwrap();
        }
        done => done.unwrap(),
    }
    let what = format!("{algorithm} in place {rows} × {cols} of {} bytes", size_of::<T>());
    expect(&matrix.to_host().unwrap(), &transposed((rows, cols), &host), &what);
}

/// An array of up to five axes, in any order.
fn axes<T: Element>(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let rank = 1 + dice.below(5);
    let mut left = sizes.elements;
    let mut shape = Vec::new();
    for _ in 0..rank {
        let length = 1 + dice.below(left.min(40));
        left /= length;
        shape.push(length);
    }
    let mut order: Vec<usize> = (0..rank).collect();
    (1..rank).rev().for_each(|at| order.swap(at, dice.below(at + 1)));
    let host = scrambled::<T>(shape.iter().product(), dice.roll());
    let [from, to] = [(); 2].map(|()| dice.one_of(streams));
    let src = DeviceTensor::from_host(from, &shape, &host).unwrap();
    let view = src.view().permute_axes(&order).unwrap();
    let mut dst = DeviceTensor::zeroed(to, view.shape()).unwrap();
    view.copy_into(&mut dst).unwrap();
    let what = format!("{shape:?} by {order:?} of {} bytes", size_of::<T>());
    expect(&dst.to_host().unwrap(), &permuted(&shape, &order, &host), &what);
}

/// The array with its axes in another order: index by index.
fn permuted<T: Copy>(shape: &[usize], order: &[usize], elements: &[T]) -> Vec<T> {
    let rank = shape.len();
    let strides: Vec<usize> = (0..rank).map(|axis| shape[axis + 1..].iter().product()).collect();
    let source = |at: usize| {
        let (mut rest, mut from) = (at, 0);
        for &axis in order.iter().rev() {
            from += rest % shape[axis] * strides[axis];
            rest /= shape[axis];
        }
        elements[from]
    };
    (0..elements.len()).map(source).collect()
}

/// There and back by copies that nobody waits for.
fn pinned<T: Element>(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let (rows, cols) = dice.shape(sizes.elements);
    let host = scrambled::<T>(rows * cols, dice.roll());
    let [up, down] = [(); 2].map(|()| dice.one_of(streams));
    let buffer = PinnedBuffer::from_slice(up, &host).unwrap();
    let mut src = DeviceMatrix::zeroed(up, rows, cols).unwrap();
    src.upload_from(&buffer).unwrap();
    drop(buffer);
    let mut dst = DeviceMatrix::zeroed(down, cols, rows).unwrap();
    src.transpose_into(&mut dst).unwrap();
    drop(src);
    let mut buffer = PinnedBuffer::zeroed(down, rows * cols).unwrap();
    dst.download_into(&mut buffer).unwrap();
    drop(dst);
    expect(buffer.read().unwrap(), &transposed((rows, cols), &host), "pinned");
}

/// Two moves, captured and replayed twice.
fn replayed<T: Element>(dice: &mut Dice, streams: &[Device], sizes: Sizes) {
    let (rows, cols) = dice.shape(sizes.elements);
    let stream = dice.one_of(streams);
    let host = scrambled::<T>(rows * cols, dice.roll());
    let src = DeviceTensor::from_host(stream, &[rows, cols], &host).unwrap();
    let mut there = DeviceTensor::zeroed(stream, &[cols, rows]).unwrap();
    let mut copy = DeviceTensor::zeroed(stream, &[rows, cols]).unwrap();
    let graph = {
        let moves = [(src.view().t(), there.view_mut()), (src.view(), copy.view_mut())];
        Graph::capture(stream, moves).unwrap()
    };
    for _ in 0..2 {
        let moves = [(src.view().t(), there.view_mut()), (src.view(), copy.view_mut())];
        graph.replay(moves).unwrap();
    }
    expect(&there.to_host().unwrap(), &transposed((rows, cols), &host), "replayed");
    expect(&copy.to_host().unwrap(), &host, "replayed copy");
}

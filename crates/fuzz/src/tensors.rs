//! Views × permutations: any order of operations on a view, and then a move of it into a part of another array, against a model of a
//! view that is a list of indices.

use bolero::TypeGenerator;
use bolero::generator::*;
use transpose::{DeviceTensor, MOST_AXES, TensorView};
use transpose_tests::{Element, simulator};

/// An array, what is done to a view of it, and how its destination lies.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Problem {
    #[generator(0..5)]
    element: u8,
    #[generator(produce::<Vec<_>>().with().len(0usize..6).values(0usize..9))]
    shape: Vec<usize>,
    #[generator(produce::<Vec<_>>().with().len(0usize..8))]
    operations: Vec<Operation>,
    /// For each axis of the destination, what lies around it, whether it runs backward, and where it is in memory.
    destination: [(u8, bool, u8); 16],
}

/// Something that makes a view of a view.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Operation {
    /// Another order of the axes.
    Permute([u8; 16]),
    /// A part of an axis.
    Slice(u8, #[generator(0..10)] usize, #[generator(0..10)] usize, #[generator(-3..4)] isize),
    /// One index of an axis.
    Index(u8, #[generator(0..9)] usize),
    /// One more axis.
    Insert(u8),
    /// An axis of length 1 repeated, and one more axis in front.
    Broadcast(u8, #[generator(1..4)] usize),
    /// Two axes as one, where they lie so.
    Merge(u8),
}

/// A view as it is meant: a shape, and for each element, in row-major order, its index in memory.
struct Model {
    shape: Vec<usize>,
    elements: Vec<usize>,
}

impl Model {
    fn of(shape: &[usize]) -> Self {
        Model { shape: shape.to_vec(), elements: (0..shape.iter().product()).collect() }
    }

    /// The element at an index.
    fn at(&self, index: &[usize]) -> usize {
        let place = self.shape.iter().zip(index).fold(0, |at, (length, index)| at * length + index);
        self.elements[place]
    }

    /// The view of `shape` whose element at an index is what this has at `from(index)`.
    fn view(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let elements = indices(&shape).map(|index| self.at(&from(&index))).collect();
        Model { shape, elements }
    }

    /// Whether a step along an axis goes as far in memory wherever it is taken: whether there are strides for it.
    fn is_strided(&self) -> bool {
        let Some(&first) = self.elements.first() else { return true };
        let step = |axis: usize| {
            let mut index = vec![0; self.shape.len()];
            index[axis] = usize::from(self.shape[axis] > 1);
            self.at(&index) as isize - first as isize
        };
        let steps: Vec<isize> = (0..self.shape.len()).map(step).collect();
        let place = |index: Vec<usize>| {
            let along = index.iter().zip(&steps).map(|(&at, step)| at as isize * step);
            first as isize + along.sum::<isize>()
        };
        indices(&self.shape).map(place).eq(self.elements.iter().map(|&at| at as isize))
    }
}

/// Every index of an array, in row-major order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    (0..shape.iter().product()).map(move |mut at: usize| {
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = at % shape[axis];
            at /= shape[axis];
        }
        index
    })
}

/// An order of so many axes.
fn order(keys: &[u8; 16], rank: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.sort_by_key(|&axis| keys[axis]);
    axes
}

/// The same operation on both; `None` where the library must refuse it.
fn apply<'a, T: Element>(
    view: TensorView<'a, T>,
    model: &Model,
    operation: &Operation,
) -> Option<(TensorView<'a, T>, Model)> {
    let shape = model.shape.clone();
    let rank = shape.len();
    let axis = |which: &u8| usize::from(*which) % rank.max(1);
    match operation {
        Operation::Permute(keys) => {
            let axes = order(keys, rank);
            let to = axes.iter().map(|&axis| shape[axis]).collect();
            let from = |index: &[usize]| {
                let mut there = vec![0; rank];
                axes.iter().zip(index).for_each(|(&axis, &at)| there[axis] = at);
                there
            };
            Some((view.permute_axes(&axes).expect("each axis once"), model.view(to, from)))
        }
        Operation::Slice(which, start, end, step) => {
            let axis = axis(which);
            let sliced = view.slice(axis, *start..*end, *step);
            let legal = axis < rank && *step != 0 && start <= end && *end <= shape[axis];
            assert_eq!(sliced.is_ok(), legal, "{sliced:?}");
            let sliced = sliced.ok()?;
            let mut to = shape;
            to[axis] = (end - start).div_ceil(step.unsigned_abs());
            let from = |index: &[usize]| {
                let mut there = index.to_vec();
                let along = index[axis] * step.unsigned_abs();
                there[axis] = if *step > 0 { start + along } else { end - 1 - along };
                there
            };
            Some((sliced, model.view(to, from)))
        }
        Operation::Index(which, at) => {
            let axis = axis(which);
            let indexed = view.index_axis(axis, *at);
            let legal = axis < rank && *at < shape[axis];
            assert_eq!(indexed.is_ok(), legal);
            let mut to = shape;
            if legal {
                to.remove(axis);
            }
            let from = |index: &[usize]| {
                let mut there = index.to_vec();
                there.insert(axis, *at);
                there
            };
            Some((indexed.ok()?, model.view(to, from)))
        }
        Operation::Insert(which) => {
            let axis = usize::from(*which) % (rank + 1);
            let inserted = view.insert_axis(axis);
            assert_eq!(inserted.is_ok(), rank < MOST_AXES, "{inserted:?}");
            let mut to = shape;
            to.insert(axis, 1);
            let from = |index: &[usize]| [&index[..axis], &index[axis + 1..]].concat();
            Some((inserted.ok()?, model.view(to, from)))
        }
        Operation::Broadcast(which, times) => {
            let mut to = shape.clone();
            if let Some(length) = to.get_mut(axis(which)).filter(|length| **length == 1) {
                *length = 3;
            }
            to.insert(0, *times);
            let broadcast = view.broadcast(&to);
            assert_eq!(broadcast.is_ok(), rank < MOST_AXES, "{broadcast:?}");
            let from = |index: &[usize]| {
                let within = index[1..].iter().zip(&shape);
                within.map(|(&at, &length)| if length == 1 { 0 } else { at }).collect()
            };
            Some((broadcast.ok()?, model.view(to.clone(), from)))
        }
        Operation::Merge(which) => {
            let axis = axis(which);
            let mut to = shape;
            if axis + 1 < rank {
                let next = to.remove(axis + 1);
                to[axis] *= next;
            }
            let merged = view.reshape(&to);
            let meant = Model { shape: to, elements: model.elements.clone() };
            assert_eq!(merged.is_ok(), meant.is_strided(), "{merged:?}");
            Some((merged.ok()?, meant))
        }
    }
}

/// The most elements that are moved: the simulator takes a while for each.
const MOST: usize = 1 << 12;

fn run_of<T: Element>(problem: &Problem) {
    let device = simulator().expect("it is always there");
    let count: usize = problem.shape.iter().product();
    let host: Vec<T> = (0..count.min(MOST)).map(|index| T::scrambled(index, 5)).collect();
    if count > MOST {
        return;
    }
    let tensor = DeviceTensor::from_host(&device, &problem.shape, &host).expect("it is small");
    let (mut view, mut model) = (tensor.view(), Model::of(&problem.shape));
    for operation in &problem.operations {
        if let Some((next, meant)) = apply(view, &model, operation)
            && meant.elements.len() <= MOST
        {
            (view, model) = (next, meant);
        }
        assert_eq!(view.shape(), model.shape);
    }
    let meant: Vec<T> = model.elements.iter().map(|&at| host[at]).collect();
    let whole = view.to_host().expect("it can be read");
    assert!(whole == meant, "read as {:?} of {:?}", model.shape, problem.shape);
    into_a_part(problem, &view, &meant);
}

/// Moves the view into a part of an array whose other elements must stay.
fn into_a_part<T: Element>(problem: &Problem, view: &TensorView<'_, T>, meant: &[T]) {
    let rank = view.rank();
    let sides = &problem.destination[..rank];
    let around: Vec<usize> = sides.iter().map(|(around, ..)| usize::from(around % 4)).collect();
    let keys = problem.destination.map(|(_, _, key)| key);
    // The order in memory, and the array that the part is of.
    let axes = order(&keys, rank);
    let padded = |&axis: &usize| view.shape()[axis] + around[axis];
    let shape: Vec<usize> = axes.iter().map(padded).collect();
    let all: usize = shape.iter().product();
    if all > 4 * MOST {
        return;
    }
    let before: Vec<T> = (0..all).map(|index| T::scrambled(index, 6)).collect();
    let mut dst = DeviceTensor::from_host(view.device(), &shape, &before).expect("it is small");
    let mut part = dst.view_mut();
    let mut model = Model::of(&shape);
    let mut back = vec![0; rank];
    axes.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
    part = part.permute_axes(&back).expect("each axis once");
    let from = |index: &[usize]| axes.iter().map(|&axis| index[axis]).collect();
    model = model.view(back.iter().map(|&place| shape[place]).collect(), from);
    for axis in 0..rank {
        let (start, length) = (around[axis] / 2, view.shape()[axis]);
        let backward = sides[axis].1;
        part = part
            .slice(axis, start..start + length, if backward { -1 } else { 1 })
            .expect("it is within");
        let mut to = model.shape.clone();
        to[axis] = length;
        let from = |index: &[usize]| {
            let mut there = index.to_vec();
            there[axis] = start + if backward { length - 1 - index[axis] } else { index[axis] };
            there
        };
        model = model.view(to, from);
    }
    view.copy_into(part).expect("any view is served");
    let mut expected = before;
    model.elements.iter().zip(meant).for_each(|(&at, element)| expected[at] = *element);
    assert!(dst.to_host().expect("it can be read") == expected, "into {:?}", shape);
}

/// Does to both what the problem says, and compares.
pub fn run(problem: &Problem) {
    match problem.element {
        0 => run_of::<u8>(problem),
        1 => run_of::<u16>(problem),
        2 => run_of::<[u8; 3]>(problem),
        3 => run_of::<u64>(problem),
        _ => run_of::<u128>(problem),
    }
}

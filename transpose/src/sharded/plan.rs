//! Planning an exchange: each step of each piece as a move that one device makes. Pure arithmetic, made without a device's memory.

use super::group::DeviceGroup;
use super::options::ExchangeOptions;
use super::pieces::{Exchange, Piece, steps};
use super::tensor::ShardedTensor;
use crate::plan::TensorPlan;
use crate::tensor::TensorLayout;
use crate::{Facts, Result};
use bytemuck::Pod;
use std::fmt;
use std::sync::Arc;

/// An exchange between the devices of a group that has been checked and only waits to be run, as often as one likes.
///
/// ```
/// use transpose::{Device, DeviceGroup, ShardedMatrix, ShardedPlan};
/// # fn main() -> transpose::Result<()> {
/// let group = DeviceGroup::new(&Device::simulated_peers(3))?;
/// let src = ShardedMatrix::from_host(&group, 5, 4, &(0..20).collect::<Vec<u16>>())?;
/// let mut dst = ShardedMatrix::zeroed(&group, 4, 5)?;
/// let plan = ShardedPlan::new(src.as_tensor(), dst.as_tensor(), &[1, 0])?;
/// plan.run(src.as_tensor(), dst.as_tensor_mut())?;
/// assert_eq!(dst.to_host()?[..5], [0, 4, 8, 12, 16]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ShardedPlan {
    pub(super) group: DeviceGroup,
    pub(super) exchange: Exchange,
    /// Whether each device's memory of the destination is what others reach.
    pub(super) reachable: Vec<bool>,
    pub(super) options: ExchangeOptions,
    /// For each device, what it sends to others, in its order.
    pub(super) far: Vec<Vec<Step>>,
    /// For each device, what stays.
    pub(super) near: Vec<Vec<Step>>,
}

/// A move that one device makes, or two.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub dst: usize,
    /// Bytes from the start of each shard to its element `[0, …, 0]`.
    pub offsets: [u64; 2],
    pub way: Way,
}

/// How a step goes.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// The source's device stores to the destination.
    Direct(Arc<TensorPlan>),
    /// The source's device packs so many bytes, the driver carries them over, and the destination's device unpacks them.
    Staged { pack: Arc<TensorPlan>, unpack: Arc<TensorPlan>, bytes: usize },
}

impl ShardedPlan {
    /// Plans the move of arrays spread like `src` to ones spread like `dst`, which has the same axes in another order: axis `i` of `dst` is
    /// axis `axes[i]` of `src`. Nothing is launched.
    ///
    /// # Errors
    /// [`Error::GroupMismatch`](crate::Error::GroupMismatch) for arrays on two groups,
    /// [`Error::NotAPermutation`](crate::Error::NotAPermutation) unless each axis is named once, and
    /// [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch) for a destination of another shape.
    pub fn new<T: Pod>(
        src: &ShardedTensor<T>,
        dst: &ShardedTensor<T>,
        axes: &[usize],
    ) -> Result<Self> {
        Self::with_options(src, dst, axes, ExchangeOptions::default())
    }

    /// Plans like [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options<T: Pod>(
        src: &ShardedTensor<T>,
        dst: &ShardedTensor<T>,
        axes: &[usize],
        options: ExchangeOptions,
    ) -> Result<Self> {
        src.group().require_same(dst.group())?;
        let exchange = src.exchange_with(dst, axes)?;
        Self::of(src.group(), exchange, dst.reachable(), options)
    }

    /// The plan of an exchange in a group.
    fn of(
        group: &DeviceGroup,
        exchange: Exchange,
        reachable: Vec<bool>,
        options: ExchangeOptions,
    ) -> Result<Self> {
        let devices = group.count();
        exchange.require(devices)?;
        let (mut far, mut near) = (vec![Vec::new(); devices], vec![Vec::new(); devices]);
        let mut planner = Planner::new(exchange.element_bytes);
        for Piece { src, dst, layouts } in exchange.pieces()? {
            let direct = src == dst || group.reaches(src, dst) && reachable[dst];
            let sides = [src, dst].map(|device| group.devices()[device].facts());
            let list: &mut Vec<Step> = if src == dst { &mut near[src] } else { &mut far[src] };
            for layouts in steps(layouts, exchange.element_bytes, options.step_bytes)? {
                let room = Room::of(&options, src == dst, devices);
                let way = planner.way(layouts, sides, direct, room)?;
                let offset = |layout: &TensorLayout| layout.offset() * exchange.element_bytes;
                let offsets = layouts.each_ref().map(|layout| offset(layout) as u64);
                list.push(Step { dst, offsets, way });
            }
        }
        Ok(ShardedPlan { group: group.clone(), exchange, reachable, options, far, near })
    }

    /// The names of the kernels that device `device` of the group launches to send to others, each once, in the order of their first
    /// launches; none where the driver copies.
    pub fn kernel_names(&self, device: usize) -> Vec<&'static str> {
        let mut names = Vec::new();
        for step in self.far.get(device).into_iter().flatten() {
            let plan = match &step.way {
                Way::Direct(plan) => plan,
                Way::Staged { pack, .. } => pack,
            };
            names.extend(plan.kernel_names().into_iter().take(1));
        }
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// How many bytes each device sends to others.
    pub fn link_bytes(&self) -> Vec<u64> {
        let devices = self.group.count();
        let mut bytes = vec![0; devices];
        for piece in self.exchange.pieces().unwrap_or_default() {
            if piece.src != piece.dst {
                bytes[piece.src] += (piece.layouts[0].len() * self.exchange.element_bytes) as u64;
            }
        }
        bytes
    }
}

/// Makes the moves of a plan, each kind once: most steps are equal but for where they start.
pub(super) struct Planner {
    element_bytes: usize,
    known: Vec<(Kind, Arc<TensorPlan>)>,
}

/// What a move's plan depends on.
#[derive(Clone, PartialEq)]
struct Kind {
    layouts: [TensorLayout; 2],
    multiprocessors: usize,
    compute_capability: (i32, i32),
    room: Room,
}

/// What room a move leaves to others that run at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// It need not leave any.
    All,
    /// All but so many blocks a multiprocessor; 0 for as many as fit.
    Beside(u32),
}

impl Room {
    /// That of a move inside a device, or to another one.
    fn of(options: &ExchangeOptions, near: bool, devices: usize) -> Self {
        match options.far_blocks {
            0 => Room::All,
            _ if !options.overlaps || devices == 1 => Room::All,
            _ if near => Room::Beside(0),
            blocks => Room::Beside(blocks),
        }
    }
}

impl Planner {
    /// One that knows no move yet, of elements of so many bytes.
    pub fn new(element_bytes: usize) -> Self {
        Planner { element_bytes, known: Vec::new() }
    }

    /// How a step goes.
    fn way(
        &mut self,
        [from, to]: [TensorLayout; 2],
        [here, there]: [&Facts; 2],
        direct: bool,
        room: Room,
    ) -> Result<Way> {
        if direct {
            return Ok(Way::Direct(self.plan([from, to], here, room)?));
        }
        let packed = TensorLayout::contiguous(from.shape(), self.element_bytes)?;
        Ok(Way::Staged {
            pack: self.plan([from, packed], here, Room::All)?,
            unpack: self.plan([packed, to], there, Room::All)?,
            bytes: from.len() * self.element_bytes,
        })
    }

    /// The same layout, as far from a memory's start as its alignment is told by: to no kernel more than 16 bytes matter.
    fn near_the_start(&self, layout: &TensorLayout) -> Result<TensorLayout> {
        let (shape, strides) = (layout.shape(), layout.strides());
        TensorLayout::strided(shape, strides, layout.offset() % 16, self.element_bytes)
    }

    /// A move of a device that is like `facts`.
    pub fn plan(
        &mut self,
        layouts: [TensorLayout; 2],
        facts: &Facts,
        room: Room,
    ) -> Result<Arc<TensorPlan>> {
        let kind = Kind {
            layouts: [self.near_the_start(&layouts[0])?, self.near_the_start(&layouts[1])?],
            multiprocessors: facts.multiprocessors,
            compute_capability: facts.compute_capability,
            room,
        };
        if let Some((_, plan)) = self.known.iter().find(|(known, _)| *known == kind) {
            return Ok(plan.clone());
        }
        let [from, to] = &kind.layouts;
        let plan = TensorPlan::for_layouts(self.element_bytes, from, to, facts)?;
        let plan = Arc::new(match room {
            Room::All => plan,
            Room::Beside(blocks) => plan.beside_others(blocks),
        });
        self.known.push((kind, plan.clone()));
        Ok(plan)
    }
}

/// What the plan is for, and what each device launches.
impl fmt::Display for ShardedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.exchange)?;
        for (device, (far, near)) in self.far.iter().zip(&self.near).enumerate() {
            let (far, near) = (far.len(), near.len());
            write!(f, " device {device} sends {far} steps and keeps {near};")?;
        }
        Ok(())
    }
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exchange { element_bytes, shape, axes, src, dst } = self;
        let lengths = |shares: &super::shares::Shares| shares.lengths().collect::<Vec<_>>();
        write!(
            f,
            "{shape:?} elements of {element_bytes} bytes, axes {axes:?} of the source, spread along axis {} by {:?}, to axis {} by {:?}",
            src.axis,
            lengths(&src.shares),
            dst.axis,
            lengths(&dst.shares),
        )
    }
}

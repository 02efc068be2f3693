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

/// Bytes that are staged at a time.
const STAGED: usize = 32 << 20;

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
    /// The source's device stores to the destination, and meanwhile moves what stays in the same way: so many bytes from the starts of its own
    /// shards.
    Paired { plan: Arc<TensorPlan>, stays: [u64; 2] },
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
        let mut planner = Planner::new(exchange.element_bytes);
        let pieces = exchange.pieces()?;
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for device in 0..devices {
            let facts = |device: usize| group.devices()[device].facts();
            let reached =
                |dst: usize| dst == device || group.reaches(device, dst) && reachable[dst];
            let of_device = Of { device, options, facts, reached };
            let [sent, kept] = planner.steps(&exchange, &pieces, &of_device)?;
            far.push(sent);
            near.push(kept);
        }
        Ok(ShardedPlan { group: group.clone(), exchange, reachable, options, far, near })
    }

    /// The names of the kernels that device `device` of the group launches to send to others, each once, in the order of their first
    /// launches; none where the driver copies.
    pub fn kernel_names(&self, device: usize) -> Vec<&'static str> {
        let mut names = Vec::new();
        for step in self.far.get(device).into_iter().flatten() {
            let plan = match &step.way {
                Way::Direct(plan) | Way::Paired { plan, .. } => plan,
                Way::Staged { pack, .. } => pack,
            };
            names.extend(plan.kernel_names().into_iter().take(1));
        }
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// Bytes of memory that each device takes beside source and destination during a run: none, unless pieces are staged.
    pub fn extra_bytes(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.group.count()];
        for (device, steps) in self.far.iter().enumerate() {
            // A stream uses the same memory step after step.
            let mut most = vec![[0; 2]; self.group.count()];
            for (round, step) in steps.iter().enumerate() {
                if let Way::Staged { bytes, .. } = step.way {
                    let most = &mut most[step.dst][round % self.options.far_streams];
                    *most = (*most).max(bytes as u64);
                }
            }
            let of_streams = |stream: usize| most.iter().map(|most| most[stream]).max();
            bytes[device] += (0..2).filter_map(of_streams).sum::<u64>();
            for (peer, most) in most.iter().enumerate() {
                bytes[peer] += most.iter().max().copied().unwrap_or(0);
            }
        }
        bytes
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

/// The device whose steps are planned, and what it sees of the others.
pub(super) struct Of<F, R> {
    pub device: usize,
    pub options: ExchangeOptions,
    /// Each device's facts.
    pub facts: F,
    /// Whether the device stores to another one's memory of the destination.
    pub reached: R,
}

/// Makes the moves of a plan, each kind once: most steps are equal but for where they start.
pub(super) struct Planner {
    element_bytes: usize,
    known: Vec<(Kind, Arc<TensorPlan>)>,
    /// The plans for pairs, where there are any.
    pairs: Vec<(Kind, Option<Arc<TensorPlan>>)>,
}

/// What goes in pairs of what stays on a device and what it sends, and what is left of both.
struct Pair {
    steps: Vec<Step>,
    rest: Vec<Piece>,
}

/// What a move's plan depends on.
#[derive(Clone, PartialEq)]
struct Kind {
    layouts: [TensorLayout; 2],
    multiprocessors: usize,
    compute_capability: (i32, i32),
    far: bool,
}

impl Planner {
    /// One that knows no move yet, of elements of so many bytes.
    pub fn new(element_bytes: usize) -> Self {
        Planner { element_bytes, known: Vec::new(), pairs: Vec::new() }
    }

    /// What a device sends to others, in its order, and what stays on it: of all pieces its own.
    pub fn steps<'f>(
        &mut self,
        exchange: &Exchange,
        pieces: &[Piece],
        of: &Of<impl Fn(usize) -> &'f Facts, impl Fn(usize) -> bool>,
    ) -> Result<[Vec<Step>; 2]> {
        let Of { device, options, facts, reached } = of;
        let device = *device;
        let mut pieces: Vec<Piece> =
            pieces.iter().filter(|piece| piece.src == device).cloned().collect();
        let (mut sent, mut kept) = (Vec::new(), Vec::new());
        if let [stays, goes, ..] = pieces.as_slice()
            && (options.pairs, stays.dst, reached(goes.dst)) == (true, device, true)
            && let Some(pair) = self.pair(exchange, stays, goes, options, facts(device))?
        {
            sent.extend(pair.steps);
            pieces.splice(..2, pair.rest);
        }
        for Piece { dst, layouts, .. } in pieces {
            // What stays waits for no link.
            let most = match (dst == device, reached(dst)) {
                (true, _) => usize::MAX,
                (_, true) => options.step_bytes,
                (_, false) => options.step_bytes.min(STAGED),
            };
            for layouts in steps(layouts, exchange.element_bytes, most)? {
                let offsets = self.offsets(&layouts);
                let far = dst != device;
                let way = self.way(layouts, [facts(device), facts(dst)], reached(dst), far)?;
                let list = if dst == device { &mut kept } else { &mut sent };
                list.push(Step { dst, offsets, way });
            }
        }
        Ok([sent, kept])
    }

    /// How a step goes.
    fn way(
        &mut self,
        [from, to]: [TensorLayout; 2],
        [here, there]: [&Facts; 2],
        direct: bool,
        far: bool,
    ) -> Result<Way> {
        if direct {
            return Ok(Way::Direct(self.plan([from, to], here, far)?));
        }
        let packed = TensorLayout::contiguous(from.shape(), self.element_bytes)?;
        Ok(Way::Staged {
            pack: self.plan([from, packed], here, false)?,
            unpack: self.plan([packed, to], there, false)?,
            bytes: from.len() * self.element_bytes,
        })
    }

    /// Bytes from the start of each side's shard to its element `[0, …, 0]`.
    fn offsets(&self, layouts: &[TensorLayout; 2]) -> [u64; 2] {
        layouts.each_ref().map(|layout| (layout.offset() * self.element_bytes) as u64)
    }

    /// What a device keeps and what it sends, as far as they are equal, in pairs; `None` where no kernel moves two at once.
    fn pair(
        &mut self,
        exchange: &Exchange,
        stays: &Piece,
        goes: &Piece,
        options: &ExchangeOptions,
        facts: &Facts,
    ) -> Result<Option<Pair>> {
        let axis = exchange.dst.axis;
        if exchange.src.axis == axis {
            return Ok(None);
        }
        let length = |piece: &Piece| piece.layouts[0].shape()[axis];
        let common = length(stays).min(length(goes));
        let (mut equal, mut rest) = (Vec::new(), Vec::new());
        for piece in [stays, goes] {
            let [from, to] = &piece.layouts;
            let ((head, tail), (head_to, tail_to)) =
                (from.split_at(axis, common)?, to.split_at(axis, common)?);
            equal.push(steps([head, head_to], self.element_bytes, options.step_bytes)?);
            if !tail.is_empty() {
                rest.push(Piece { layouts: [tail, tail_to], ..piece.clone() });
            }
        }
        let mut paired = Vec::new();
        for (kept, sent) in equal[0].iter().zip(&equal[1]) {
            // Shards of different lengths lie differently, unless the axis that is spread is their slowest.
            if (0..2).any(|side| kept[side].strides() != sent[side].strides()) {
                return Ok(None);
            }
            // The one that is aligned worse stands for both.
            let worse = |side: usize| {
                let alignment = |layout: &TensorLayout| {
                    (layout.offset() * self.element_bytes).trailing_zeros().min(4)
                };
                let (kept, sent) = (kept[side], sent[side]);
                if alignment(&kept) < alignment(&sent) { kept } else { sent }
            };
            let kind = self.kind(&[worse(0), worse(1)], facts, true)?;
            let known = self.pairs.iter().find(|(known, _)| *known == kind);
            let plan = match known {
                Some((_, plan)) => plan.clone(),
                None => {
                    let [from, to] = &kind.layouts;
                    let plan = TensorPlan::for_pairs(self.element_bytes, from, to, facts)?;
                    let plan = plan.map(Arc::new);
                    self.pairs.push((kind, plan.clone()));
                    plan
                }
            };
            let Some(plan) = plan else { return Ok(None) };
            let way = Way::Paired { plan, stays: self.offsets(kept) };
            paired.push(Step { dst: goes.dst, offsets: self.offsets(sent), way });
        }
        Ok(Some(Pair { steps: paired, rest }))
    }

    /// The same layout, as far from a memory's start as its alignment is told by: to no kernel more than 16 bytes matter.
    fn near_the_start(&self, layout: &TensorLayout) -> Result<TensorLayout> {
        let (shape, strides) = (layout.shape(), layout.strides());
        TensorLayout::strided(shape, strides, layout.offset() % 16, self.element_bytes)
    }

    /// What the plan of such a move depends on.
    fn kind(&self, layouts: &[TensorLayout; 2], facts: &Facts, far: bool) -> Result<Kind> {
        Ok(Kind {
            layouts: [self.near_the_start(&layouts[0])?, self.near_the_start(&layouts[1])?],
            multiprocessors: facts.multiprocessors,
            compute_capability: facts.compute_capability,
            far,
        })
    }

    /// A move of a device that is like `facts`, to its own memory or to another one's.
    pub fn plan(
        &mut self,
        layouts: [TensorLayout; 2],
        facts: &Facts,
        far: bool,
    ) -> Result<Arc<TensorPlan>> {
        let kind = self.kind(&layouts, facts, far)?;
        if let Some((_, plan)) = self.known.iter().find(|(known, _)| *known == kind) {
            return Ok(plan.clone());
        }
        let [from, to] = &kind.layouts;
        let plan = TensorPlan::for_layouts(self.element_bytes, from, to, facts)?;
        let plan = Arc::new(if far { plan.stored_afar() } else { plan });
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

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use crate::{Device, ShardedTensor};

    /// What is stored to another device is not fetched from there before, whatever its rows start on; what stays may be.
    #[test]
    fn nothing_is_fetched_from_other_devices() {
        let group = DeviceGroup::new(&Device::simulated_peers(2)).unwrap();
        for (rows, cols, axes) in [(803, 701, [1, 0]), (1024, 999, [1, 0]), (640, 330, [0, 1])] {
            let src = ShardedTensor::<u32>::zeroed(&group, &[rows, cols], 0).unwrap();
            let shape = axes.map(|axis| [rows, cols][axis]);
            let dst = ShardedTensor::<u32>::zeroed(&group, &shape, 1).unwrap();
            for pairs in [false, true] {
                let options = ExchangeOptions::default().pairs(pairs);
                let plan = ShardedPlan::with_options(&src, &dst, &axes, options).unwrap();
                for step in plan.far.iter().flatten() {
                    let (Way::Direct(plan) | Way::Paired { plan, .. }) = &step.way else {
                        panic!("devices that reach each other stage nothing")
                    };
                    assert!(!plan.to_string().contains("ends fetched"), "{plan}");
                }
            }
        }
    }
    /// Each device of a group moves by plans for its own kind, in pairs, too.
    #[test]
    fn devices_may_be_unlike() {
        let paired = |multiprocessors: [usize; 2]| {
            let peers = Device::simulated_peers(2).into_iter().zip(multiprocessors);
            let devices: Vec<_> = peers
                .map(|(device, multiprocessors)| {
                    let facts = Facts { multiprocessors, ..device.facts().clone() };
                    device.with_facts(facts).unwrap()
                })
                .collect();
            let group = DeviceGroup::new(&devices).unwrap();
            let src = ShardedTensor::<u32>::zeroed(&group, &[1280, 640], 0).unwrap();
            let dst = ShardedTensor::<u32>::zeroed(&group, &[640, 1280], 0).unwrap();
            let options = ExchangeOptions::default().pairs(true);
            let plan = ShardedPlan::with_options(&src, &dst, &[1, 0], options).unwrap();
            let step = &plan.far[1][0];
            let Way::Paired { plan, .. } = &step.way else { panic!("not in pairs: {step:?}") };
            format!("{plan:?}")
        };
        assert_ne!(paired([4, 4]), paired([132, 132]));
        assert_eq!(paired([4, 132]), paired([132, 132]));
    }
}

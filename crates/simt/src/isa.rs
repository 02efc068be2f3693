//! The instructions the executor runs: PTX after names, types and constants are resolved.
//!
//! Every operand is the index of a register. Constants, special registers such
//! as `%tid.x` and the addresses of variables live in registers too, filled
//! before a block starts, so that an operation never asks where its operand
//! comes from.

use crate::half::Narrow;

/// A 32-bit register; narrower values are kept zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct W(pub u16);

/// A 64-bit register. A 128-bit value is two of them in a row, low half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct D(pub u16);

/// A predicate: one bit per lane. Number 0 is always true, number 1 is the carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct P(pub u16);

/// The predicate that is always true.
pub(crate) const TRUE: P = P(0);
/// The carry flag of `add.cc` and its kin.
pub(crate) const CARRY: P = P(1);

/// What a register holds before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Init {
    Const(u64),
    Special(Special),
    /// Address of the dynamic shared memory, known once all static variables are placed.
    DynamicShared,
}

/// The special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicSharedBytes,
    TotalSharedBytes,
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unary {
    Mov,
    Not,
    CNot,
    Neg,
    AbsS,
    Popc,
    Clz,
    Brev,
    BfindU,
    BfindS,
    BfindShiftU,
    BfindShiftS,
    FNeg,
    FAbs,
    FSqrt,
    FRcp,
}

/// An operation on two values of one width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Binary {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    /// The lesser number, or 0 if that is negative.
    MinReluS,
    /// The greater number, or 0 if that is negative.
    MaxReluS,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FMin,
    FMax,
}

/// A shift; the amount is always a 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shift {
    Left,
    RightU,
    RightS,
}

/// An operation on three values of one width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ternary {
    MadLo,
    MadHiU,
    MadHiS,
    Lop3(u8),
    Prmt,
    /// `c >= 0 ? a : b`
    Slct,
    FFma,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    LtU,
    LeU,
    GtU,
    GeU,
    LtS,
    LeS,
    GtS,
    GeS,
    /// A floating-point comparison and what it says when an operand is NaN.
    Float(FloatCompare, bool),
}

/// A floating-point comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FloatCompare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// True of any two numbers.
    Always,
    /// True of no two numbers.
    Never,
}

/// An operation on predicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// A predicate, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Guard {
    pub p: P,
    /// All ones to negate, zero not to: the guard is `value ^ flip`.
    pub flip: u32,
}

impl Guard {
    pub(crate) const ALWAYS: Guard = Guard { p: TRUE, flip: 0 };
}

/// What `setp` does with the comparison's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SetTarget {
    pub d: P,
    /// Receives the negated result.
    pub q: Option<P>,
    pub combine: Option<(Logic, Guard)>,
}

/// An integer type: width in bits and signedness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IntType {
    pub bits: u8,
    pub signed: bool,
}

/// How a floating-point value becomes an integral one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

/// A conversion between number types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Convert {
    Int { from: IntType, to: IntType },
    IntToFloat { from: IntType, to_bits: u8 },
    FloatToInt { from_bits: u8, to: IntType, rounding: Rounding },
    FloatToFloat { from_bits: u8, to_bits: u8, integral: Option<Rounding> },
}

/// A register of either width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reg {
    W(W),
    D(D),
}

/// Where one element of a load goes or of a store comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slot {
    /// The sink `_`.
    None,
    /// A register of 16 bits (or 8): only that much of it may be set.
    H(W),
    W(W),
    D(D),
    /// Two 64-bit registers in a row.
    Q(D),
}

/// The state space an access names; generic addresses are resolved per lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Window {
    Global,
    Shared,
    Param,
    Generic,
}

/// Whose accesses a strong operation is ordered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of the block: `.cta`, and `.cluster`, for there are no larger clusters here.
    Block,
    /// Those of everyone: `.gpu` and `.sys`.
    Device,
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Later accesses come after what was read before it.
    pub acquire: bool,
    /// Earlier accesses come before what is written after it.
    pub release: bool,
    /// There is one order of these fences (`.sc`).
    pub total: bool,
    pub scope: Scope,
}

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    pub window: Window,
    /// Bytes per thread: all elements together.
    pub bytes: u8,
    /// Bytes per element.
    pub element: u8,
    /// Loads sign-extend their elements.
    pub signed: bool,
    /// `.volatile`, `.relaxed`, `.acquire` or `.release`: allowed to race.
    pub strong: bool,
    /// `.acquire` or `.release`: orders other accesses too.
    pub ordering: bool,
    /// Of a strong access.
    pub scope: Scope,
    /// `.nc`: of memory that nobody writes while the kernel runs.
    pub constant: bool,
    pub count: u8,
    pub slots: [Slot; 4],
    pub base: Reg,
    pub offset: i64,
}

impl Access {
    /// Within what it is strong, if it is.
    pub(crate) fn strength(&self) -> Option<Scope> {
        self.strong.then_some(self.scope)
    }
}

/// What an atomic does to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AtomicOp {
    Add,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    MinU,
    MinS,
    MaxU,
    MaxS,
    Inc,
    Dec,
    FAdd,
}

/// An atomic read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Atomic {
    pub op: AtomicOp,
    pub window: Window,
    /// 4 or 8.
    pub bytes: u8,
    /// Receives the old value; `None` for `red`.
    pub d: Option<Reg>,
    pub base: Reg,
    pub offset: i64,
    pub b: Reg,
    /// The new value of `cas`.
    pub c: Option<Reg>,
    /// Later accesses come after it (`.acquire`, `.acq_rel`).
    pub acquire: bool,
    /// Earlier accesses come before it (`.release`, `.acq_rel`).
    pub release: bool,
    pub scope: Scope,
}

/// A reduction that a barrier performs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BarrierReduce {
    Popc(W),
    And(P),
    Or(P),
}

/// A block-wide barrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Barrier {
    pub id: W,
    /// Threads that take part; all of the block where absent.
    pub count: Option<W>,
    /// `bar.arrive`: does not wait.
    pub arrive_only: bool,
    /// All threads of a warp must execute it together.
    pub aligned: bool,
    pub reduce: Option<(BarrierReduce, Guard)>,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// A warp shuffle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shuffle {
    pub mode: ShuffleMode,
    pub d: W,
    pub in_range: Option<P>,
    pub a: W,
    pub b: W,
    pub c: W,
    pub members: W,
}

/// A warp vote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vote {
    All(P),
    Any(P),
    Uniform(P),
    Ballot(W),
}

/// A warp-wide search for equal values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub all: bool,
    pub d: W,
    pub p: Option<P>,
    pub a: Reg,
    pub members: W,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Unary16(Unary, W, W),
    Unary32(Unary, W, W),
    Unary64(Unary, D, D),
    /// 64-bit source, 32-bit result: `popc.b64`, `clz.b64`, `bfind.u64`.
    Count64(Unary, W, D),
    Mov128(D, D),
    Binary16(Binary, W, W, W),
    Binary32(Binary, W, W, W),
    Binary64(Binary, D, D, D),
    Shift16(Shift, W, W, W),
    Shift32(Shift, W, W, W),
    Shift64(Shift, D, D, W),
    /// Full product of 16-bit values.
    MulWide16 {
        signed: bool,
        d: W,
        a: W,
        b: W,
    },
    /// Full product of 32-bit values.
    MulWide32 {
        signed: bool,
        d: D,
        a: W,
        b: W,
    },
    MadWide16 {
        signed: bool,
        d: W,
        a: W,
        b: W,
        c: W,
    },
    MadWide32 {
        signed: bool,
        d: D,
        a: W,
        b: W,
        c: D,
    },
    Ternary16(Ternary, W, W, W, W),
    Ternary32(Ternary, W, W, W, W),
    Ternary64(Ternary, D, D, D, D),
    /// `slct` of 64-bit values by a 32-bit one.
    Slct64 {
        d: D,
        a: D,
        b: D,
        c: W,
    },
    /// Adds or subtracts with the carry flag coming in or going out.
    Carry32 {
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
        d: W,
        a: W,
        b: W,
    },
    Carry64 {
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
        d: D,
        a: D,
        b: D,
    },
    Bfe32 {
        signed: bool,
        d: W,
        a: W,
        pos: W,
        len: W,
    },
    Bfe64 {
        signed: bool,
        d: D,
        a: D,
        pos: W,
        len: W,
    },
    Bfi32 {
        d: W,
        a: W,
        b: W,
        pos: W,
        len: W,
    },
    Bfi64 {
        d: D,
        a: D,
        b: D,
        pos: W,
        len: W,
    },
    /// Funnel shift.
    Shf {
        left: bool,
        clamp: bool,
        d: W,
        a: W,
        b: W,
        c: W,
    },
    Set16(Compare, SetTarget, W, W),
    Set32(Compare, SetTarget, W, W),
    Set64(Compare, SetTarget, D, D),
    Selp32(W, W, W, Guard),
    Selp64(D, D, D, Guard),
    Logic(Logic, P, Guard, Guard),
    MovP(P, Guard),
    /// The result is cut to the `bits` of the destination register.
    Convert {
        how: Convert,
        d: Reg,
        bits: u8,
        a: Reg,
    },
    /// Two numbers of 32 bits made narrow, the second one in the lower bits.
    ConvertPair(Narrow, W, W, W),
    /// Two numbers of 8 bits made halves, each where it was of the two.
    WidenPair(Narrow, W, W),
    /// Two integers of 32 bits cut to what the type `to` has, the second one in the lower bits, and above them the lower bits of a third register.
    Saturate {
        to: IntType,
        d: W,
        a: W,
        b: W,
        above: Option<W>,
    },
    /// Joins `N` parts into one register, low part first.
    Pack16x2(W, [W; 2]),
    Pack16x4(D, [W; 4]),
    Pack32x2(D, [W; 2]),
    Pack64x2(D, [D; 2]),
    Pack32x4(D, [W; 4]),
    Unpack16x2([Option<W>; 2], W),
    Unpack16x4([Option<W>; 4], D),
    Unpack32x2([Option<W>; 2], D),
    Unpack64x2([Option<D>; 2], D),
    Unpack32x4([Option<W>; 4], D),
    /// Whether a generic address lies in a window.
    IsSpace(Window, P, D),
    Load(u32),
    Store(u32),
    Atomic(u32),
    /// `cp.async`: the load, whose number this is, and behind it the store.
    Copy(u32),
    /// `cp.async.commit_group`.
    CloseCopies,
    /// `cp.async.wait_group` but for the last so many groups, or `cp.async.wait_all`.
    AwaitCopies(Option<u32>),
    Fence(Fence),
    /// `prefetch`: a hint without effect on the result.
    Hint,
    Shuffle(Shuffle),
    Vote {
        vote: Vote,
        p: Guard,
        members: W,
    },
    ActiveMask(W),
    Match(Match),
    /// `redux.sync`
    Reduce {
        op: AtomicOp,
        d: W,
        a: W,
        members: W,
    },
    WarpBarrier(W),
    Barrier(Barrier),
    Branch(u32),
    /// Jump by table; the index into `Program::tables`.
    BranchTable(W, u32),
    Exit,
    Trap,
}

/// An operation, its guard and the line it came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst {
    pub guard: Guard,
    pub op: Op,
    pub line: u32,
}

/// Marks "past the end": where all lanes have exited.
pub(crate) const EXIT: u32 = u32::MAX;

/// Base of the window of generic addresses that means shared memory. Its low 32
/// bits are zero, so that truncating such an address gives the shared offset, as
/// on hardware.
pub(crate) const SHARED_WINDOW: u64 = 0xffff_ff00_0000_0000;
/// Size of that window.
pub(crate) const SHARED_WINDOW_BYTES: u64 = 1 << 32;

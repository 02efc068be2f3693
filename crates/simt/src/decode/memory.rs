//! Decodes instructions that touch memory.

use super::Decoder;
use super::names::{RegRef, Symbol};
use super::opcode::{Kind, Opcode, Type};
use crate::Error;
use crate::isa::*;
use crate::program::Key;
use crate::syntax::{Base, Operand};

/// Hints that steer caches and never change a result.
fn is_cache_hint(part: &str) -> bool {
    let level = ["L1::", "L2::"].iter().any(|level| part.starts_with(level));
    level && part != "L2::cache_hint"
}

/// What an opcode says of the order of memory.
#[derive(Clone, Copy)]
struct Strength {
    /// Whether it says that it has no order.
    weak: bool,
    /// Whether the access may meet others of its kind.
    strong: bool,
    /// Whether it orders other accesses.
    ordering: bool,
    scope: Scope,
    /// Whether it is of memory that devices are mapped to.
    mapped: bool,
}

/// Takes the scope of a strong operation, if it is there.
fn take_scope(op: &mut Opcode<'_>) -> Option<Scope> {
    use Scope::{Block, Device};
    op.take_one_of(&[("cta", Block), ("cluster", Block), ("gpu", Device), ("sys", Device)])
}

impl<'a> Decoder<'a> {
    pub(super) fn memory(
        &mut self,
        op: &mut Opcode<'a>,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        match op.base {
            "ld" | "ldu" => self.load(op, args),
            "st" => self.store(op, args),
            "atom" | "red" => self.atomic(op, args),
            "fence" | "membar" => self.fence(op, args),
            "cp" => self.copy(op, args),
            _ => self.prefetch(op, args),
        }
    }

    fn window(&self, op: &mut Opcode<'a>) -> Window {
        op.take_one_of(&[
            ("global", Window::Global),
            ("shared", Window::Shared),
            ("shared::cta", Window::Shared),
            ("param", Window::Param),
            ("param::entry", Window::Param),
        ])
        .unwrap_or(Window::Generic)
    }

    /// Takes the memory-ordering modifiers, of which there is at most one, `orders` being that which orders other accesses.
    fn strength(&self, op: &mut Opcode<'a>, orders: &str) -> Result<Strength, Error> {
        let mapped = op.take("mmio");
        let [weak, volatile, relaxed, ordering] =
            ["weak", "volatile", "relaxed", orders].map(|modifier| op.take(modifier));
        if [weak, volatile, relaxed, ordering].iter().filter(|&&is| is).count() > 1 {
            return Err(op.unsupported());
        }
        // What is mapped belongs to all.
        if mapped && !(relaxed && op.take("sys")) {
            return Err(op.unsupported());
        }
        let scope = match (relaxed || ordering) && !mapped {
            true => take_scope(op).ok_or_else(|| op.unsupported())?,
            false => Scope::Device,
        };
        Ok(Strength { weak, strong: volatile || relaxed || ordering, ordering, scope, mapped })
    }

    /// The operands of a load or store without the cache policy, which has a modifier of its own. It is read, and changes no
    /// result.
    fn without_policy(
        &mut self,
        op: &mut Opcode<'a>,
        args: &'a [Operand<'a>],
    ) -> Result<&'a [Operand<'a>], Error> {
        match args {
            [rest @ .., policy] if op.take("L2::cache_hint") => {
                self.src_d(policy)?;
                Ok(rest)
            }
            _ => Ok(args),
        }
    }

    /// The modifiers that loads and stores share, into an access without operands.
    fn access_shape(&mut self, op: &mut Opcode<'a>, orders: &str) -> Result<(Access, Type), Error> {
        let Strength { weak, strong, ordering, scope, mapped } = self.strength(op, orders)?;
        let window = self.window(op);
        let uncached = op.base == "ld" && op.take("nc");
        let constant = uncached || op.base == "ldu";
        let operators: &[&str] = match op.base {
            "ld" if uncached => &["ca", "cg", "cs", "lu"],
            "ld" => &["ca", "cg", "cs", "lu", "cv"],
            "st" => &["wb", "cg", "cs", "wt"],
            _ => &[],
        };
        let operator = operators.iter().any(|operator| op.take(operator));
        op.take("unified");
        op.take_all(is_cache_hint);
        let count = op.take_one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1u8);
        let is_refused = match window {
            Window::Param => strong || constant,
            Window::Shared => constant || mapped,
            Window::Generic => uncached,
            Window::Global => false,
        };
        if is_refused || operator && strong || constant && (weak || strong) || mapped && count > 1 {
            return Err(op.unsupported());
        }
        let kind = op.take_type()?;
        let bytes = (kind.bits / 8).checked_mul(count).filter(|bytes| (1..=16).contains(bytes));
        let bytes = bytes.ok_or_else(|| op.unsupported())?;
        let access = Access {
            window,
            bytes,
            element: kind.bits / 8,
            signed: kind.is_signed(),
            strong,
            ordering,
            scope,
            constant,
            count,
            slots: [Slot::None; 4],
            base: Reg::W(W(0)),
            offset: 0,
        };
        Ok((access, kind))
    }

    /// The elements of a load's or store's register operand.
    fn elements(&self, operand: &'a Operand<'a>, count: u8) -> Result<&'a [Operand<'a>], Error> {
        let elements = match operand {
            Operand::Vector(elements) => elements.as_slice(),
            single => std::slice::from_ref(single),
        };
        if elements.len() == usize::from(count) {
            Ok(elements)
        } else {
            Err(self.invalid(format!("{count} registers expected, {} found", elements.len())))
        }
    }

    fn load(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let (mut access, kind) = self.access_shape(op, "acquire")?;
        let args = self.without_policy(op, args)?;
        let [d, address] = self.args(args)?;
        for (slot, element) in access.slots.iter_mut().zip(self.elements(d, access.count)?) {
            *slot = self.load_slot(element, kind)?;
        }
        self.address(&mut access, address)?;
        self.program.accesses.push(access);
        Ok(Op::Load(self.program.accesses.len() as u32 - 1))
    }

    /// A destination at least as wide as `kind`; the rest of it is extended into.
    fn load_slot(&mut self, operand: &'a Operand<'a>, kind: Type) -> Result<Slot, Error> {
        if *operand == Operand::Name("_") {
            return Ok(Slot::None);
        }
        let register = self.register(operand)?;
        if register.bits() < kind.bits || register.bits() == 1 {
            return Err(self.wrong_width(operand, register.bits(), kind.bits));
        }
        match register {
            RegRef::W(w, bits) => {
                self.defs.push(w.into());
                Ok(if bits <= 16 { Slot::H(w) } else { Slot::W(w) })
            }
            RegRef::D(d) => {
                self.defs.push(d.into());
                Ok(Slot::D(d))
            }
            RegRef::Q(_) if kind.bits == 128 => self.dst_q(operand).map(Slot::Q),
            _ => Err(self.wrong_width(operand, register.bits(), kind.bits)),
        }
    }

    fn store(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let (mut access, kind) = self.access_shape(op, "release")?;
        let args = self.without_policy(op, args)?;
        if access.window == Window::Param {
            return Err(op.unsupported());
        }
        let [address, source] = self.args(args)?;
        for (slot, element) in access.slots.iter_mut().zip(self.elements(source, access.count)?) {
            *slot = self.store_slot(element, kind)?;
        }
        self.address(&mut access, address)?;
        self.program.accesses.push(access);
        Ok(Op::Store(self.program.accesses.len() as u32 - 1))
    }

    /// A source at least as wide as `kind`; its low bits are stored.
    fn store_slot(&mut self, operand: &'a Operand<'a>, kind: Type) -> Result<Slot, Error> {
        let bits = match operand {
            Operand::Name(_) => self.register(operand)?.bits(),
            _ => kind.bits.max(16),
        };
        if bits < kind.bits || bits == 1 {
            return Err(self.wrong_width(operand, bits, kind.bits));
        }
        Ok(match bits {
            128 if kind.bits == 128 => Slot::Q(self.src_q(operand)?),
            64 => Slot::D(self.src_d(operand)?),
            8 | 16 | 32 => Slot::W(self.src_w(operand, bits)?),
            _ => return Err(self.wrong_width(operand, bits, kind.bits)),
        })
    }

    /// Fills in the base register and offset of `[base+offset]`.
    fn address(&mut self, access: &mut Access, operand: &'a Operand<'a>) -> Result<(), Error> {
        (access.base, access.offset) = self.base_and_offset(access.window, operand)?;
        Ok(())
    }

    fn base_and_offset(
        &mut self,
        window: Window,
        operand: &'a Operand<'a>,
    ) -> Result<(Reg, i64), Error> {
        let Operand::Address { base, offset } = operand else {
            return Err(self.invalid("an address in brackets expected"));
        };
        let name = match base {
            Base::Absolute => return Ok((Reg::D(self.const_d(0)?), *offset)),
            Base::Name(name) => name,
        };
        let base = match self.lookup(name)? {
            Symbol::Register(RegRef::D(d)) => {
                self.uses.push(Key::from(d));
                Reg::D(d)
            }
            // Shared and parameter addresses fit 32 bits.
            Symbol::Register(RegRef::W(w, 32))
                if matches!(window, Window::Shared | Window::Param) =>
            {
                self.uses.push(Key::from(w));
                Reg::W(w)
            }
            Symbol::Address(address) => Reg::D(self.const_d(address)?),
            Symbol::DynamicShared => self.dynamic_shared(64, 0)?,
            _ => return Err(self.invalid(format!("`{name}` is no address"))),
        };
        Ok((base, *offset))
    }

    fn atomic(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let returns = op.base == "atom";
        let orders = [
            ("relaxed", (false, false)),
            ("acquire", (true, false)),
            ("release", (false, true)),
            ("acq_rel", (true, true)),
        ];
        let (acquire, release) = op.take_one_of(&orders).unwrap_or_default();
        let scope = take_scope(op).unwrap_or(Scope::Device);
        let window = self.window(op);
        op.take_all(is_cache_hint);
        let kind = op.take_type()?;
        let operation = atomic_op(op, kind).ok_or_else(|| op.unsupported())?;
        if window == Window::Param || !matches!(kind.bits, 32 | 64) {
            return Err(op.unsupported());
        }
        // What returns nothing takes nothing.
        if !returns && (acquire || matches!(operation, AtomicOp::Exch | AtomicOp::Cas)) {
            return Err(op.unsupported());
        }
        let bits = kind.bits;
        let (d, rest) = match args.split_first() {
            Some((d, rest)) if returns => (Some(d), rest),
            _ => (None, args),
        };
        let (address, b, c) = match rest {
            [address, b] if operation != AtomicOp::Cas => (address, b, None),
            [address, b, c] if operation == AtomicOp::Cas => (address, b, Some(self.src(c, bits)?)),
            _ => return Err(self.invalid("wrong number of operands")),
        };
        let b = self.src(b, bits)?;
        let (base, offset) = self.base_and_offset(window, address)?;
        let d = match d {
            Some(d) if *d != Operand::Name("_") => Some(self.dst(d, bits)?),
            _ => None,
        };
        let bytes = bits / 8;
        let op = operation;
        let atomic = Atomic { op, window, bytes, d, base, offset, b, c, acquire, release, scope };
        self.program.atomics.push(atomic);
        Ok(Op::Atomic(self.program.atomics.len() as u32 - 1))
    }

    fn fence(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        use Scope::{Block, Device};
        let [] = self.args(args)?;
        if op.base == "membar" {
            let scope = op.take_one_of(&[("cta", Block), ("gl", Device), ("sys", Device)]);
            let scope = scope.ok_or_else(|| op.unsupported())?;
            return Ok(Op::Fence(Fence { acquire: true, release: true, total: true, scope }));
        }
        let kinds = [
            ("sc", (true, true, true)),
            ("acq_rel", (true, true, false)),
            ("acquire", (true, false, false)),
            ("release", (false, true, false)),
        ];
        let kind = op.take_one_of(&kinds).unwrap_or((true, true, false));
        let (acquire, release, total) = kind;
        let scope = take_scope(op).ok_or_else(|| op.unsupported())?;
        Ok(Op::Fence(Fence { acquire, release, total, scope }))
    }

    /// Copies that the thread does not wait for, and waiting for them. Those that leave out a part of what they read are refused.
    fn copy(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        if !op.take("async") {
            return Err(op.unsupported());
        }
        if op.take("bulk") {
            return self.bulk_prefetch(op, args);
        }
        if op.take("commit_group") {
            return self.args::<0>(args).map(|_| Op::CloseCopies);
        }
        if op.take("wait_all") {
            return self.args::<0>(args).map(|_| Op::AwaitCopies(None));
        }
        if op.take("wait_group") {
            let [Operand::Int(but)] = args else {
                return Err(self.invalid("a number of groups expected"));
            };
            let but = u32::try_from(*but).unwrap_or(u32::MAX);
            return Ok(Op::AwaitCopies(Some(but)));
        }
        let past_l1 = op.take("cg");
        let is_to_shared = op.take("shared") || op.take("shared::cta");
        if !((past_l1 || op.take("ca")) && is_to_shared && op.take("global")) {
            return Err(op.unsupported());
        }
        op.take_all(|part| part != "L2::cache_hint" && is_cache_hint(part));
        let args = self.without_policy(op, args)?;
        let [to, from, Operand::Int(bytes)] = args else {
            return Err(self.invalid("two addresses and a number of bytes expected"));
        };
        if !matches!((past_l1, bytes), (_, 16) | (false, 4 | 8)) {
            return Err(self.invalid("4, 8 or 16 bytes, and with .cg 16"));
        }
        let first = self.program.accesses.len() as u32;
        for (window, address) in [(Window::Global, from), (Window::Shared, to)] {
            let (base, offset) = self.base_and_offset(window, address)?;
            self.program.accesses.push(Access {
                window,
                bytes: *bytes as u8,
                element: *bytes as u8,
                signed: false,
                strong: false,
                ordering: false,
                scope: Scope::Device,
                constant: false,
                count: 1,
                slots: [Slot::None; 4],
                base,
                offset,
            });
        }
        Ok(Op::Copy(first))
    }

    /// `cp.async.bulk.prefetch`, the only bulk copy that is known.
    fn bulk_prefetch(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        if !(op.take("prefetch") && op.take("L2") && op.take("global")) {
            return Err(op.unsupported());
        }
        let [address, bytes] = self.args(args)?;
        self.base_and_offset(Window::Global, address)?;
        self.src_w(bytes, 32)?;
        Ok(Op::Hint)
    }

    fn prefetch(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let window = self.window(op);
        let levels: &[&str] = match (op.base, window) {
            ("prefetch", Window::Global | Window::Generic) => {
                &["L1", "L2", "L2::evict_last", "L2::evict_normal"]
            }
            ("prefetchu", Window::Generic) => &["L1"],
            _ => &[],
        };
        if !levels.iter().any(|level| op.take(level)) {
            return Err(op.unsupported());
        }
        let [address] = self.args(args)?;
        self.base_and_offset(window, address)?;
        Ok(Op::Hint)
    }
}

fn atomic_op(op: &mut Opcode<'_>, kind: Type) -> Option<AtomicOp> {
    use AtomicOp::*;
    let float = kind.is_float();
    let signed = kind.is_signed();
    let integer = matches!(kind.kind, Kind::Unsigned | Kind::Signed);
    let found = op.take_one_of(&[
        ("add", if float { FAdd } else { Add }),
        ("and", And),
        ("or", Or),
        ("xor", Xor),
        ("exch", Exch),
        ("cas", Cas),
        ("min", if signed { MinS } else { MinU }),
        ("max", if signed { MaxS } else { MaxU }),
        ("inc", Inc),
        ("dec", Dec),
    ])?;
    let fits = match found {
        // There is no `.s64` addition: it would be that of `.u64`.
        Add => integer && !(signed && kind.bits == 64),
        MinU | MinS | MaxU | MaxS => integer,
        Inc | Dec => kind.kind == Kind::Unsigned && kind.bits == 32,
        FAdd => float,
        _ => kind.kind == Kind::Bits,
    };
    fits.then_some(found)
}

//! Decodes control flow, barriers and exchanges between the lanes of a warp.

use super::Decoder;
use super::names::Targets;
use super::opcode::{Kind, Opcode, Type};
use crate::Error;
use crate::isa::*;
use crate::syntax::Operand;

const B32: Type = Type { kind: Kind::Bits, bits: 32 };
const U32: Type = Type { kind: Kind::Unsigned, bits: 32 };

impl<'a> Decoder<'a> {
    pub(super) fn control(
        &mut self,
        op: &mut Opcode<'a>,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        match op.base {
            "bra" => {
                op.take("uni");
                let [target] = self.args(args)?;
                Ok(Op::Branch(self.label(target)?))
            }
            "brx" => self.branch_table(op, args),
            "ret" => {
                op.take("uni");
                self.args::<0>(args).map(|_| Op::Exit)
            }
            "exit" => self.args::<0>(args).map(|_| Op::Exit),
            "trap" => self.args::<0>(args).map(|_| Op::Trap),
            "nanosleep" => {
                self.require(op, U32)?;
                let [time] = self.args(args)?;
                self.src_w(time, 32)?;
                Ok(Op::Hint)
            }
            // Launches run one by one: none is before another that it could wait for.
            "griddepcontrol" => {
                if !(op.take("wait") || op.take("launch_dependents")) {
                    return Err(op.unsupported());
                }
                self.args::<0>(args).map(|_| Op::Hint)
            }
            "bar" | "barrier" => self.barrier(op, args),
            "shfl" => self.shuffle(op, args),
            "vote" => self.vote(op, args),
            "activemask" => {
                self.require(op, B32)?;
                let [d] = self.args(args)?;
                Ok(Op::ActiveMask(self.dst_w(d, 32)?))
            }
            "match" => self.match_lanes(op, args),
            _ => self.reduce(op, args),
        }
    }

    /// Takes a type and refuses any other than `kind`.
    fn require(&self, op: &mut Opcode<'a>, kind: Type) -> Result<(), Error> {
        if op.take_type()? == kind { Ok(()) } else { Err(op.unsupported()) }
    }

    /// Takes `.sync`: the forms without it are gone since PTX 6.4.
    fn require_sync(&self, op: &mut Opcode<'a>) -> Result<(), Error> {
        if op.take("sync") { Ok(()) } else { Err(op.unsupported()) }
    }

    /// The number of the label that `operand` names.
    fn label(&mut self, operand: &Operand<'a>) -> Result<u32, Error> {
        let Operand::Name(name) = operand else {
            return Err(self.invalid("a label expected"));
        };
        self.label_number(name, self.scopes.len() - 1)
    }

    /// The number of the label that is called `name` at the scope of that depth.
    fn label_number(&self, name: &str, depth: usize) -> Result<u32, Error> {
        let scopes = self.scopes[..=depth].iter().rev();
        let found = scopes.into_iter().find_map(|scope| scope.labels.get(name));
        found.copied().ok_or_else(|| self.invalid(format!("label `{name}` is not defined")))
    }

    fn branch_table(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        if !op.take("idx") {
            return Err(op.unsupported());
        }
        op.take("uni");
        let [index, table] = self.args(args)?;
        let Operand::Name(name) = table else {
            return Err(self.invalid("a list of branch targets expected"));
        };
        let table = self.table(name)?;
        Ok(Op::BranchTable(self.src_w(index, 32)?, table))
    }

    /// The number of a list of branch targets. However many branches use it, it is kept once.
    fn table(&mut self, name: &'a str) -> Result<u32, Error> {
        let depth =
            (0..self.scopes.len()).rev().find(|&at| self.scopes[at].tables.contains_key(name));
        let depth = depth.ok_or_else(|| self.invalid(format!("`{name}` is not defined")))?;
        let targets = match self.scopes[depth].tables[name] {
            Targets::Placed(table) => return Ok(table),
            Targets::Named(targets) => targets,
        };
        // Its labels are those that it sees, not those that the branch sees.
        let label = |target: &&'a str| self.label_number(target, depth);
        let labels = targets.iter().map(label).collect::<Result<_, _>>()?;
        self.program.tables.push(labels);
        let table = self.program.tables.len() as u32 - 1;
        self.scopes[depth].tables.insert(name, Targets::Placed(table));
        Ok(table)
    }

    fn barrier(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        if op.take("warp") {
            self.require_sync(op)?;
            let [members] = self.args(args)?;
            return Ok(Op::WarpBarrier(self.src_w(members, 32)?));
        }
        op.take("cta");
        // `bar` is `barrier` with `.aligned`.
        let aligned = op.base == "bar" || op.take("aligned");
        if op.take("red") {
            return self.barrier_reduce(op, aligned, args);
        }
        let arrive_only = op.take("arrive");
        if !arrive_only {
            self.require_sync(op)?;
        }
        let (id, count) = match args {
            [id] if !arrive_only => (id, None),
            [id, count] => (id, Some(self.src_w(count, 32)?)),
            _ => return Err(self.invalid("wrong number of operands")),
        };
        let id = self.src_w(id, 32)?;
        Ok(Op::Barrier(Barrier { id, count, arrive_only, aligned, reduce: None }))
    }

    fn barrier_reduce(
        &mut self,
        op: &mut Opcode<'a>,
        aligned: bool,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        let (popc, and, or) = (op.take("popc"), op.take("and"), op.take("or"));
        let kind = op.take_type()?;
        if kind != U32 && !kind.is_predicate() {
            return Err(op.unsupported());
        }
        let (d, id, count, p) = match args {
            [d, id, p] => (d, id, None, p),
            [d, id, count, p] => (d, id, Some(self.src_w(count, 32)?), p),
            _ => return Err(self.invalid("wrong number of operands")),
        };
        let (id, p) = (self.src_w(id, 32)?, self.src_p(p)?);
        let reduce = match (popc, and, or) {
            (true, false, false) if kind == U32 => BarrierReduce::Popc(self.dst_w(d, 32)?),
            (false, true, false) if kind.is_predicate() => BarrierReduce::And(self.dst_p(d)?),
            (false, false, true) if kind.is_predicate() => BarrierReduce::Or(self.dst_p(d)?),
            _ => return Err(op.unsupported()),
        };
        let reduce = Some((reduce, p));
        Ok(Op::Barrier(Barrier { id, count, arrive_only: false, aligned, reduce }))
    }

    fn shuffle(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        self.require_sync(op)?;
        let mode = op
            .take_one_of(&[
                ("up", ShuffleMode::Up),
                ("down", ShuffleMode::Down),
                ("bfly", ShuffleMode::Butterfly),
                ("idx", ShuffleMode::Index),
            ])
            .ok_or_else(|| op.unsupported())?;
        self.require(op, B32)?;
        let [target, a, b, c, members] = self.args(args)?;
        let (a, b, c) = (self.src_w(a, 32)?, self.src_w(b, 32)?, self.src_w(c, 32)?);
        let members = self.src_w(members, 32)?;
        let (d, in_range) = match target {
            Operand::Pair(d, p) => (self.dst_w_name(d)?, Some(self.dst_p_name(p)?)),
            other => (self.dst_w(other, 32)?, None),
        };
        Ok(Op::Shuffle(Shuffle { mode, d, in_range, a, b, c, members }))
    }

    fn dst_w_name(&mut self, name: &'a str) -> Result<W, Error> {
        match self.lookup(name)? {
            super::Symbol::Register(super::RegRef::W(w, 32)) => {
                self.defs.push(w.into());
                Ok(w)
            }
            _ => Err(self.invalid(format!("`{name}` is not a 32-bit register"))),
        }
    }

    fn vote(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        self.require_sync(op)?;
        let (all, any, uniform) = (op.take("all"), op.take("any"), op.take("uni"));
        let ballot = op.take("ballot");
        let kind = op.take_type()?;
        let [d, p, members] = self.args(args)?;
        let (p, members) = (self.src_p(p)?, self.src_w(members, 32)?);
        let vote = match (all, any, uniform, ballot) {
            (false, false, false, true) if kind == B32 => Vote::Ballot(self.dst_w(d, 32)?),
            (true, false, false, false) if kind.is_predicate() => Vote::All(self.dst_p(d)?),
            (false, true, false, false) if kind.is_predicate() => Vote::Any(self.dst_p(d)?),
            (false, false, true, false) if kind.is_predicate() => Vote::Uniform(self.dst_p(d)?),
            _ => return Err(op.unsupported()),
        };
        Ok(Op::Vote { vote, p, members })
    }

    fn match_lanes(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        self.require_sync(op)?;
        let all = op.take("all");
        if !all && !op.take("any") {
            return Err(op.unsupported());
        }
        let kind = op.take_type()?;
        if kind.kind != Kind::Bits || !matches!(kind.bits, 32 | 64) {
            return Err(op.unsupported());
        }
        let [target, a, members] = self.args(args)?;
        let (a, members) = (self.src(a, kind.bits)?, self.src_w(members, 32)?);
        let (d, p) = match target {
            Operand::Pair(d, p) if all => (self.dst_w_name(d)?, Some(self.dst_p_name(p)?)),
            other => (self.dst_w(other, 32)?, None),
        };
        Ok(Op::Match(Match { all, d, p, a, members }))
    }

    fn reduce(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        use AtomicOp::*;
        self.require_sync(op)?;
        let kind = op.take_type()?;
        let signed = kind.is_signed();
        let found = op
            .take_one_of(&[
                ("add", Add),
                ("min", if signed { MinS } else { MinU }),
                ("max", if signed { MaxS } else { MaxU }),
                ("and", And),
                ("or", Or),
                ("xor", Xor),
            ])
            .ok_or_else(|| op.unsupported())?;
        let bitwise = matches!(found, And | Or | Xor);
        let fits = match kind.kind {
            Kind::Bits => bitwise,
            Kind::Unsigned | Kind::Signed => !bitwise,
            _ => false,
        };
        if kind.bits != 32 || !fits {
            return Err(op.unsupported());
        }
        let [d, a, members] = self.args(args)?;
        let (a, members) = (self.src_w(a, 32)?, self.src_w(members, 32)?);
        Ok(Op::Reduce { op: found, d: self.dst_w(d, 32)?, a, members })
    }
}

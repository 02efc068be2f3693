//! loom's types, of which any use can be spoiled: the call in a line of a file that is included.

pub(crate) use loom::sync::{Mutex, MutexGuard};
pub(crate) use std::sync::PoisonError;
pub(crate) use std::sync::atomic::Ordering;

use loom::sync::atomic::fence;
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::LockResult;

/// A call, by its file and its line.
pub(crate) type Place = (String, u32);

/// The call that is spoiled, and all that could be. (loom's executions are one after the other, on one thread; tests of this crate are one.)
static SPOILED: std::sync::Mutex<Option<Place>> = std::sync::Mutex::new(None);
static SEEN: std::sync::Mutex<BTreeSet<Place>> = std::sync::Mutex::new(BTreeSet::new());

/// Spoils a call from now on, or none.
pub(crate) fn spoil(place: Option<Place>) {
    *SPOILED.lock().unwrap_or_else(PoisonError::into_inner) = place;
}

/// The calls that were made since the last time.
pub(crate) fn take_seen() -> BTreeSet<Place> {
    std::mem::take(&mut SEEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether this call is spoiled.
fn is_spoiled(here: &Location<'_>) -> bool {
    let name = here.file().rsplit('/').next().unwrap_or_default();
    let place = (name.to_owned(), here.line());
    let is = SPOILED.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(&place);
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
    is
}

/// One whose calls that wake can be left out.
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(guard)
    }

    #[track_caller]
    pub fn notify_all(&self) {
        if !is_spoiled(Location::caller()) {
            self.0.notify_all();
        }
    }
}

/// Where sequential consistency is put: see [`AtomicU64`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fences {
    BehindStores,
    BeforeLoads,
}

static FENCES: std::sync::Mutex<Fences> = std::sync::Mutex::new(Fences::BehindStores);

/// Chooses where sequential consistency is put from now on.
pub(crate) fn put(fences: Fences) {
    *FENCES.lock().unwrap_or_else(PoisonError::into_inner) = fences;
}

/// One whose sequentially consistent accesses can be made relaxed, and whose additions be made of a load and a store.
///
/// loom takes an access with sequential consistency for one that acquires and releases. Here it is that and a fence: behind all that store, or before
/// all that load. Either is weaker than what it stands for, so what holds with either holds; and what is spoiled is seen by one of them.
pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

impl AtomicU64 {
    pub fn new(value: u64) -> Self {
        AtomicU64(loom::sync::atomic::AtomicU64::new(value))
    }

    /// An access that stores or only loads, where sequentially consistent ones have this order beside the fence.
    #[track_caller]
    fn ordered<R>(
        &self,
        order: Ordering,
        stores: bool,
        beside: Ordering,
        access: impl FnOnce(Ordering) -> R,
    ) -> R {
        if order != Ordering::SeqCst {
            return access(order);
        }
        if is_spoiled(Location::caller()) {
            return access(Ordering::Relaxed);
        }
        let put = *FENCES.lock().unwrap_or_else(PoisonError::into_inner);
        if put == Fences::BeforeLoads && !stores {
            fence(Ordering::SeqCst);
        }
        let result = access(beside);
        if put == Fences::BehindStores && stores {
            fence(Ordering::SeqCst);
        }
        result
    }

    #[track_caller]
    pub fn load(&self, order: Ordering) -> u64 {
        self.ordered(order, false, Ordering::Acquire, |order| self.0.load(order))
    }

    #[track_caller]
    pub fn store(&self, value: u64, order: Ordering) {
        self.ordered(order, true, Ordering::Release, |order| self.0.store(value, order));
    }

    #[track_caller]
    pub fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.ordered(order, true, Ordering::AcqRel, |order| self.0.swap(value, order))
    }

    #[track_caller]
    pub fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        if is_spoiled(Location::caller()) {
            let old = self.0.load(order);
            self.0.store(old + value, order);
            return old;
        }
        self.0.fetch_add(value, order)
    }
}

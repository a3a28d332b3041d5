//! A value of one thread that another takes over when the first is inside the kernel and does not come back.
//!
//! The owner says when it goes into the kernel and when it is back; both are plain stores. Who takes the
//! value over makes all threads of the process pass a memory barrier first (`membarrier(2)`), so that the
//! owner needs none of its own.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED` and its registration (`linux/membarrier.h`).
const BARRIER: libc::c_int = 1 << 3;
const REGISTER: libc::c_int = 1 << 4;

/// Nobody but the owner uses the value.
const OWNED: u8 = 0;
/// Somebody wants to take it: an owner that comes back waits for the decision.
const ASKED: u8 = 1;
/// It has been taken: the owner never comes back.
const TAKEN: u8 = 2;

struct Shared<T> {
    /// How often the owner has gone and come back: odd while it is away.
    moves: AtomicU64,
    claim: AtomicU8,
    value: UnsafeCell<ManuallyDrop<T>>,
}

// SAFETY: at any time one side only uses the value: the owner while it is at home, or who has taken it while
// the owner is away, after which the owner never uses it again. So it is handed over, never shared.
unsafe impl<T: Send> Sync for Shared<T> {}

/// The side that uses the value. It may be sent to another thread, but only one at a time has it: two that
/// looked at the value through a shared reference could do what its type allows to one thread only.
pub struct Owner<T>(Arc<Shared<T>>, PhantomData<Cell<()>>);

/// The side that looks on, and may take the value.
pub struct Watcher<T>(Arc<Shared<T>>);

/// A value, and who may take it from its owner.
pub fn hand_off<T: Send>(value: T) -> (Owner<T>, Watcher<T>) {
    has_barrier();
    let shared = Arc::new(Shared {
        moves: AtomicU64::new(0),
        claim: AtomicU8::new(OWNED),
        value: UnsafeCell::new(ManuallyDrop::new(value)),
    });
    (Owner(Arc::clone(&shared), PhantomData), Watcher(shared))
}

/// Asks the kernel for the barrier, which the first value of a process would do. A process that has one
/// thread yet gets it at once; with others, the kernel waits until each CPU has been elsewhere
/// (`synchronize_rcu`), which took 7 to 18 ms.
pub fn get_ready() {
    has_barrier();
}

/// Whether the kernel gives the barrier to this process; requested once, before anything is measured.
fn has_barrier() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(REGISTER))
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes integers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

impl<T> Owner<T> {
    /// Does something that may never end, during which the value may be taken. If it has been, this does
    /// not return: the thread sleeps forever, and keeps all that it has.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is called from three places, and by itself left as a call of its own, which costs 41 \
                  instructions in each turn of the hot loop (callgrind)"
    )]
    pub fn away<R>(&mut self, act: impl FnOnce() -> R) -> R {
        let home = Home::leave(&self.0);
        let result = act();
        drop(home);
        result
    }
}

/// Comes back when it is dropped, also if the act panicked.
struct Home<'a, T>(&'a Shared<T>, u64);

impl<'a, T> Home<'a, T> {
    #[inline]
    fn leave(shared: &'a Shared<T>) -> Self {
        let moves = shared.moves.load(Ordering::Relaxed);
        shared.moves.store(moves + 1, Ordering::Release);
        Self(shared, moves + 2)
    }
}

impl<T> Drop for Home<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.moves.store(self.1, Ordering::Relaxed);
        // The store and the load must not change places; for the processor, the barrier of who asks sees
        // to it.
        compiler_fence(Ordering::SeqCst);
        if self.0.claim.load(Ordering::Acquire) != OWNED {
            await_decision(&self.0.claim);
        }
    }
}

#[cold]
fn await_decision(claim: &AtomicU8) {
    loop {
        match claim.load(Ordering::Acquire) {
            OWNED => return,
            TAKEN => std::thread::park(),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

impl<T> Deref for Owner<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the owner is at home, since `away` borrows it for as long as it is not, and has come home
        // only if the value was not taken.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Owner<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`; the exclusive borrow makes this the only reference.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Watcher<T> {
    /// A number that changes each time the owner goes away or comes back, and whether it is away.
    #[must_use]
    pub fn moves(&self) -> (u64, bool) {
        let moves = self.0.moves.load(Ordering::Relaxed);
        (moves, moves % 2 == 1)
    }

    /// Takes the value, if the owner is gone for good or is away just now; an owner that is away then never
    /// comes back. Otherwise nothing has happened, and the watcher is returned.
    pub fn take(self) -> Result<T, Self> {
        let watcher = match Arc::try_unwrap(self.0) {
            Ok(alone) => return Ok(ManuallyDrop::into_inner(alone.value.into_inner())),
            Err(shared) => Self(shared),
        };
        if !watcher.claim() {
            return Err(watcher);
        }
        // SAFETY: the owner is away and is kept there by the claim, so that nothing else uses the value from
        // now on. The watcher is consumed, and there is one only, so that this happens once.
        Ok(unsafe { ManuallyDrop::take(&mut *watcher.0.value.get()) })
    }

    /// Whether the owner is away, and now stays there forever.
    fn claim(&self) -> bool {
        if !has_barrier() {
            return false;
        }
        self.0.claim.store(ASKED, Ordering::SeqCst);
        // From here on, an owner that comes home either is seen to have come, or sees the claim.
        let is_away = membarrier(BARRIER) && self.0.moves.load(Ordering::Acquire) % 2 == 1;
        self.0.claim.store(if is_away { TAKEN } else { OWNED }, Ordering::Release);
        is_away
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_an_owner_has_left_behind_is_taken() {
        let (mut owner, watcher) = hand_off(vec![1]);
        owner.push(2);
        let watcher = watcher.take().expect_err("the owner is at home");
        drop(owner);
        assert_eq!(watcher.take().ok(), Some(vec![1, 2]));
    }

    #[test]
    fn an_owner_that_is_away_never_comes_back() {
        let (mut owner, watcher) = hand_off(vec![1]);
        let (gone, is_gone) = mpsc::channel();
        let (back, may_return) = mpsc::channel::<()>();
        let (returned, has_returned) = mpsc::channel();
        std::thread::spawn(move || {
            owner.push(2);
            owner.away(|| {
                gone.send(()).unwrap();
                may_return.recv().unwrap();
            });
            owner.push(3);
            returned.send(()).unwrap();
        });
        is_gone.recv().unwrap();
        assert!(watcher.moves().1);
        assert_eq!(watcher.take().ok(), Some(vec![1, 2]));
        back.send(()).unwrap();
        assert!(has_returned.recv_timeout(Duration::from_millis(100)).is_err());
    }

    #[test]
    fn every_change_before_it_went_is_there_when_it_is_taken() {
        for _ in 0..50 {
            let (mut owner, watcher) = hand_off([0_u64; 2]);
            std::thread::spawn(move || {
                loop {
                    owner[0] += 1;
                    owner[1] += 1;
                    owner.away(std::thread::yield_now);
                }
            });
            let mut watcher = watcher;
            let statistics = loop {
                match watcher.take() {
                    Ok(statistics) => break statistics,
                    Err(again) => watcher = again,
                }
                // Who only looks takes the CPU that the owner would go on with.
                std::thread::yield_now();
            };
            assert_eq!(statistics[0], statistics[1]);
        }
    }
}

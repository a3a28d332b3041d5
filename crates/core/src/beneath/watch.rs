//! Reading all counters at the edges of the load and of the measured time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_sys::clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::{Counters, ProcessIo};
use super::cpu::{CpuReading, Pressure};
use super::groups::{self, GroupReading};
use super::layers::Layers;
use super::processes::{self, ProcessTime};
use super::servers::{self, Serving};
use crate::tree::Tree;

/// A stretch in which a thread waited for I/Os, and none of one target came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Position of the thread in the time span, from 0.
    pub thread: u32,
    /// Position of the target in the time span, from 0; absent in results of versions that did not tell.
    #[serde(default)]
    pub target: Option<u32>,
    /// When it began, in nanoseconds since the measured time did.
    pub from_ns: u64,
    /// How long it lasted, in nanoseconds.
    pub length_ns: u64,
}

/// When the counters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Before the first I/O of the load.
    BeforeLoad,
    /// The measured time begins.
    Begin,
    /// The measured time has ended.
    End,
    /// All threads have ended.
    AfterLoad,
}

/// All counters at one instant.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The instant, on the monotonic clock.
    pub at_ns: u64,
    /// Those of each layer, in the order of the layers; absent where nothing is counted.
    pub layers: Vec<Option<Counters>>,
    /// Those of this process.
    pub process: Option<ProcessIo>,
    /// CPU time.
    pub cpu: Option<CpuReading>,
    /// What was waited for.
    pub pressure: Option<Pressure>,
    /// Control groups that limit this process.
    pub groups: Vec<GroupReading>,
}

/// What was read around one load.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The layers.
    pub layers: Layers,
    /// At the four edges, as far as they were reached.
    pub readings: [Option<Reading>; 4],
    /// CPU time of other processes from before the load until after it, the most first.
    pub processes: Vec<ProcessTime>,
    /// Those of them that serve a target.
    pub serving: Vec<Serving>,
    /// For how long they were watched, in nanoseconds.
    pub processes_watched_ns: Option<u64>,
    /// Stretches in which a thread waited in vain for half a second, or for a tenth of a shorter measured
    /// time.
    pub stalls: Vec<Stall>,
    /// The machine has areas to swap to.
    pub has_swap: bool,
}

impl Observation {
    /// What was read at an edge.
    #[must_use]
    pub fn at(&self, edge: Edge) -> Option<&Reading> {
        self.readings[edge as usize].as_ref()
    }
}

/// Reads the counters of a time span.
pub struct Watch {
    tree: Tree,
    state: Mutex<State>,
}

struct State {
    found: Observation,
    /// Before the load, and when that was.
    processes: Option<(BTreeMap<u32, ProcessTime>, u64)>,
}

impl State {
    fn look_at_processes(&mut self, tree: &Tree) {
        self.processes = Some((processes::read(tree), clock::now_ns()));
    }
}

impl Watch {
    /// A watch over these layers of this machine.
    #[must_use]
    pub fn new(layers: Layers) -> Self {
        Self::below(Path::new("/"), layers)
    }

    /// The same on a machine that may be made of files.
    pub(crate) fn below(root: &Path, layers: Layers) -> Self {
        let found = Observation { layers, ..Observation::default() };
        let state = Mutex::new(State { found, processes: None });
        Self { tree: Tree::new(root), state }
    }

    /// Looks at all processes; at the latest when the counters are read before the load.
    pub fn look_at_processes(&self) {
        self.state().look_at_processes(&self.tree);
    }

    /// Reads all counters. Processes are looked at outside of the load only, as there may be thousands.
    pub fn look(&self, edge: Edge) {
        let mut state = self.state();
        if edge == Edge::BeforeLoad && state.processes.is_none() {
            state.look_at_processes(&self.tree);
        }
        state.found.readings[edge as usize] = Some(self.read(&state.found.layers));
        state.found.has_swap |= has_swap(&self.tree);
        if edge == Edge::AfterLoad
            && let Some((before, at_ns)) = state.processes.take()
        {
            state.found.processes_watched_ns = Some(clock::now_ns().saturating_sub(at_ns));
            state.found.processes = processes::since(&before, processes::read(&self.tree));
            let found = &mut state.found;
            found.serving = servers::among(&self.tree, &found.layers, &found.processes);
        }
    }

    /// Takes in the stalls of the measured time.
    pub fn stalled(&self, stalls: Vec<Stall>) {
        self.state().found.stalls = stalls;
    }

    fn read(&self, layers: &Layers) -> Reading {
        let tree = &self.tree;
        let counters = layers.all.iter().map(|layer| {
            layer
                .number
                .filter(|_| layer.is_counted)
                .and_then(|number| Counters::read(tree, number))
        });
        Reading {
            at_ns: clock::now_ns(),
            layers: counters.collect(),
            process: ProcessIo::read(tree),
            cpu: CpuReading::read(tree),
            pressure: Pressure::read(tree),
            groups: groups::read(tree),
        }
    }

    /// What was read.
    #[must_use]
    pub fn take(self) -> Observation {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).found
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there is an area to swap to: the kernel lists each one below a line of headings (proc(5)).
fn has_swap(tree: &Tree) -> bool {
    tree.text("proc/swaps").is_some_and(|text| text.lines().nth(1).is_some())
}

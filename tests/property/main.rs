//! What must hold for every input, not only for those that somebody thought of.

mod borders;
mod kernel_events;
mod latency;
mod merge;
mod profile;
mod results;
mod series;
mod typed;

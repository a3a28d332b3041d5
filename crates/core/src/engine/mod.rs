//! Doing: a plan becomes measurements. One hot loop, generic over backend and clock.

mod alias;
pub mod backend;
pub mod clock;
pub mod coordinator;
pub mod fault;
pub mod live;
pub mod mix;
pub mod offsets;
pub mod pace;
pub mod payload;
pub mod random;
pub mod reduction;
mod run_queue;
pub mod setup;
pub mod simulate;
pub mod start_barrier;
pub mod start_gate;
pub mod stop;
pub mod stream;
mod tracer;
pub mod worker;

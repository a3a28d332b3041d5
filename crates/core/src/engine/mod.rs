//! Doing: a plan becomes measurements. One hot loop, generic over backend and clock.

mod alias;
pub mod backend;
pub mod clock;
pub mod conductor;
pub mod fault;
pub mod gate;
pub mod lane;
pub mod live;
pub mod mix;
pub mod offsets;
pub mod pace;
pub mod payload;
pub mod random;
pub mod reduction;
pub mod setup;
pub mod simulate;
pub mod stop;
mod tracer;
pub mod worker;

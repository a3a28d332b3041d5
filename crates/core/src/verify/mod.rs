//! Verification: each write is stamped, each read is checked, and a journal says what may stand where.
//!
//! A target is divided into *blocks* of equal size, the greatest that every I/O consists of whole ones of.
//! Each sector of 512 bytes of a block carries a [`stamp`]; so a sector tells by itself whether it is whole,
//! where it belongs, and which write it came from. A [`window`] per block holds which writes may be found:
//! one if none is in flight, several while some are. The windows stand in the [`journal`], a file that is
//! mapped into memory, so that they outlive the process.

pub mod check;
mod fixed;
pub mod journal;
mod making;
pub mod origin;
pub mod pass;
pub mod stamp;
pub mod stream;
pub mod table;
pub mod tally;
pub mod window;
pub mod word;

pub use check::FaultKind;
pub use origin::Origin;
pub use stream::StreamVerifier;
pub use table::{Tables, TargetTable};

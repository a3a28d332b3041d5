//! The contract, kept by both who implement it.

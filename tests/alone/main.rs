//! On a real kernel, in a program of its own: what changes the whole machine for a moment.

mod offline;

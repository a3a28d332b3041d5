//! On a real kernel: what only real files, file systems and devices can show.

mod facts;
mod prepare;

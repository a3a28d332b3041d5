//! Doors to other tools: their command lines, profiles and outputs, which are spoken nowhere else.

pub mod diskspd;

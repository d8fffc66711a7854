//! The verbs that keep a home in order.

pub(super) mod doctor;
pub(super) mod gc;
pub(super) mod notify;

//! Faults: a real server stopped, killed, frozen, restarted, made read-only or full; floods; and
//! clients that break off or talk nonsense. An outage is 503, never 401.

mod rig;

mod bodies;
mod clock;
mod coalescer;
mod exhausted;
mod frozen;
mod input;
mod killed;
mod load;
mod logins;
mod outage;
mod pooler;
mod stop;
mod storage;
mod wire;

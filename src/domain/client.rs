//! The program at the other end, as far as a request tells.

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::{address, device, token};

/// Where a request came from and what it calls itself.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// The address, where one can be trusted.
    pub address: Option<IpAddr>,
    /// The raw User-Agent.
    pub user_agent: Option<Vec<u8>>,
}

impl Client {
    /// The network that is kept of the address.
    pub fn coarse_address(&self) -> Option<IpNetwork> {
        self.address.map(address::coarse)
    }

    /// The label of the device.
    pub fn device_label(&self) -> Option<String> {
        self.user_agent.as_deref().and_then(device::label)
    }

    /// Hex SHA-256 of the User-Agent.
    pub fn user_agent_hash(&self) -> Option<String> {
        let hash = token::hex_sha256(self.user_agent.as_deref()?);
        Some(String::from_utf8_lossy(&hash).into_owned())
    }
}

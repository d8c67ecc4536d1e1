//! Client addresses: whose word is taken for them, and how coarse they are kept.

use std::net::{IpAddr, SocketAddr};

use ipnetwork::IpNetwork;

/// Hops looked at in X-Forwarded-For before giving up.
const MAX_HOPS: usize = 32;

/// The address as IPv4 where it is an IPv4 address written as IPv6 (`::ffff:192.0.2.1`).
pub fn unmapped(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// The network as one of IPv4 where it is one of IPv4 written as IPv6 (`::ffff:10.0.0.0/104`): clients'
/// addresses are compared as IPv4. `None` where it holds more than IPv4 and a part of it is that.
pub fn unmapped_network(network: IpNetwork) -> Option<IpNetwork> {
    let address = unmapped(network.ip());
    match (network.ip(), address) {
        (IpAddr::V6(_), IpAddr::V4(_)) => {
            IpNetwork::new(address, network.prefix().checked_sub(96)?).ok()
        }
        _ => Some(network),
    }
}

/// The network that is kept of an address: /24 of IPv4, /48 of IPv6.
pub fn coarse(address: IpAddr) -> IpNetwork {
    let address = unmapped(address);
    let prefix = if address.is_ipv4() { 24 } else { 48 };
    match IpNetwork::new(address, prefix) {
        // `new` keeps the host bits; the network has none.
        Ok(network) => IpNetwork::new(network.network(), prefix).unwrap_or(network),
        Err(_) => IpNetwork::from(address),
    }
}

/// Whether the address is of this machine or of a private network.
pub fn is_private(address: IpAddr) -> bool {
    match unmapped(address) {
        IpAddr::V4(address) => {
            address.is_loopback() || address.is_private() || address.is_link_local()
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

/// The client's address: the peer's, unless the peer is a trusted proxy. Then X-Forwarded-For is
/// read from the right, each trusted hop vouching for the one before it, to the first that is not
/// trusted. `forwarded` holds the header's values in the order in which they arrived. Where a
/// trusted proxy sent something that is no address, the client is unknown.
pub fn client<'a>(
    peer: Option<IpAddr>,
    forwarded: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted: &[IpNetwork],
) -> Option<IpAddr> {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = unmapped(peer?);
    if !is_trusted(client) {
        return Some(client);
    }
    let hops = forwarded
        .rev()
        .flat_map(|value| value.rsplit(|b| *b == b','));
    for hop in hops.take(MAX_HOPS) {
        client = hop_address(hop)?;
        if !is_trusted(client) {
            return Some(client);
        }
    }
    Some(client)
}

/// One hop: an address, perhaps with a port, in brackets, or with a zone id.
fn hop_address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let hop = hop
        .strip_prefix('"')
        .and_then(|h| h.strip_suffix('"'))
        .unwrap_or(hop);
    if let Ok(with_port) = hop.parse::<SocketAddr>() {
        return Some(unmapped(with_port.ip()));
    }
    let bare = hop
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(hop);
    let bare = bare
        .split_once('%')
        .map_or(bare, |(address, _zone)| address);
    bare.parse().ok().map(unmapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_of(peer: &str, forwarded: &[&str]) -> Option<String> {
        let trusted: Vec<IpNetwork> = ["10.0.0.0/8", "fd00::/8"]
            .iter()
            .map(|n| n.parse().unwrap())
            .collect();
        client(
            peer.parse().ok(),
            forwarded.iter().map(|f| f.as_bytes()),
            &trusted,
        )
        .map(|a| a.to_string())
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(client_of("192.0.2.1", &["203.0.113.9"]), some("192.0.2.1"));
        assert_eq!(client_of("10.0.0.1", &[]), some("10.0.0.1"));
        assert_eq!(client_of("10.0.0.1", &["203.0.113.9"]), some("203.0.113.9"));
        assert_eq!(
            client_of("::ffff:10.0.0.1", &["203.0.113.9"]),
            some("203.0.113.9")
        );
        // The client's own claims stand to the left of what the proxy saw.
        assert_eq!(
            client_of("10.0.0.1", &["1.1.1.1, 203.0.113.9"]),
            some("203.0.113.9")
        );
        assert_eq!(
            client_of("10.0.0.1", &["1.1.1.1", "203.0.113.9, 10.0.0.2"]),
            some("203.0.113.9")
        );
        assert_eq!(
            client_of("10.0.0.1", &["10.0.0.3, 10.0.0.2"]),
            some("10.0.0.3")
        );
    }

    #[test]
    fn ports_brackets_zones_and_junk() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(
            client_of("10.0.0.1", &["203.0.113.9:4711"]),
            some("203.0.113.9")
        );
        assert_eq!(
            client_of("10.0.0.1", &["[2001:db8::1]:4711"]),
            some("2001:db8::1")
        );
        assert_eq!(
            client_of("10.0.0.1", &["[2001:db8::1]"]),
            some("2001:db8::1")
        );
        assert_eq!(client_of("10.0.0.1", &["fe80::1%eth0"]), some("fe80::1"));
        assert_eq!(
            client_of("10.0.0.1", &["::ffff:203.0.113.9"]),
            some("203.0.113.9")
        );
        for junk in [
            "unknown",
            "",
            "203.0.113.9.9",
            "_hidden",
            "256.1.1.1",
            ",,,",
            "\u{0}",
        ] {
            assert_eq!(client_of("10.0.0.1", &[junk]), None, "{junk:?}");
        }
        let many = vec!["10.0.0.9"; 1000].join(",");
        assert_eq!(client_of("10.0.0.1", &[&many]), some("10.0.0.9"));
    }

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "::1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in ["203.0.113.9", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn mapped_networks_are_of_ipv4() {
        let of = |n: &str| unmapped_network(n.parse().unwrap()).map(|n| n.to_string());
        assert_eq!(of("::ffff:10.0.0.0/104").as_deref(), Some("10.0.0.0/8"));
        assert_eq!(of("::ffff:10.0.0.1").as_deref(), Some("10.0.0.1/32"));
        assert_eq!(of("::ffff:0.0.0.0/96").as_deref(), Some("0.0.0.0/0"));
        assert_eq!(of("::ffff:10.0.0.0/90"), None);
        assert_eq!(of("fd00::/8").as_deref(), Some("fd00::/8"));
    }

    #[test]
    fn addresses_are_kept_coarse() {
        let coarse_of = |a: &str| coarse(a.parse().unwrap()).to_string();
        assert_eq!(coarse_of("203.0.113.9"), "203.0.113.0/24");
        assert_eq!(coarse_of("::ffff:203.0.113.9"), "203.0.113.0/24");
        assert_eq!(coarse_of("2001:db8:1:2:3::4"), "2001:db8:1::/48");
    }

    proptest::proptest! {
        #[test]
        fn no_forwarded_header_panics(values in proptest::collection::vec(".*", 0..4)) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            client_of("10.0.0.1", &values);
        }
    }
}

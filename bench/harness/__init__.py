"""What the benches share: clusters, services, load, reports."""

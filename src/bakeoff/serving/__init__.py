"""Layer 4: models over HTTP, in the wire formats that clients speak; engines by their port."""

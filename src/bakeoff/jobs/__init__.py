"""Layer 2: how a run is carried out: plan, rows, report."""

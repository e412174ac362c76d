"""Engines in processes of their own, behind the same interface.

`open_hosted` takes the place of `open_engine`. A host is a process that owns an engine and does
nothing else: what speaks HTTP does not share its interpreter, and survives when it ends.
"""

from bakeoff.engines.host.hosted import HostedEngine, open_hosted

__all__ = ["HostedEngine", "open_hosted"]

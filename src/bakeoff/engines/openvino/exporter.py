"""Writes a checkpoint as OpenVINO's files. Run as a script, by path, in the private environment.

    python -I exporter.py <checkpoint> <folder>

It imports nothing of bakeoff. The tokenizer is left alone: bakeoff reads with its own.
"""

from __future__ import annotations

import sys


def main(source: str, target: str) -> None:
    """Export a decoder-only model in float32."""
    from optimum.exporters.openvino import main_export
    from optimum.intel.openvino.configuration import OVConfig

    main_export(
        model_name_or_path=source,
        output=target,
        task="text-generation-with-past",
        framework="pt",
        device="cpu",
        local_files_only=True,
        trust_remote_code=False,
        convert_tokenizer=False,
        ov_config=OVConfig(dtype="fp32"),
        stateful=True,
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

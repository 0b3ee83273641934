"""Defaults of an installation, apart from the rest so that help texts load quickly."""

from pathlib import Path

PORT, DESK_PORT = 4200, 4210
ROOT = Path(__file__).parents[2]
FILE = ROOT / "deployments" / "prefect.yaml"

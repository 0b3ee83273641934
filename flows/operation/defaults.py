"""Defaults of an installation, apart from the rest so that help texts load quickly."""

from pathlib import Path

PORT = 4200
ROOT = Path(__file__).parents[2]
FILE = ROOT / "deployments" / "prefect.yaml"

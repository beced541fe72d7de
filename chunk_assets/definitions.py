"""What Dagster loads: the definitions of the configuration file."""

from chunk_assets.config import config_path
from chunk_assets.definitions_factory import build_definitions
from resources.platform import Platform

defs = build_definitions(Platform.from_file(config_path()))

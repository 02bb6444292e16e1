"""A model's shape from its config alone: the net is built lazily and traced without running it, so no weight of it is held, whatever its size."""

from __future__ import annotations

from kvlab.models.config.provenance import FACT as FACT
from kvlab.models.config.provenance import FITTED as FITTED
from kvlab.models.config.provenance import GUESS as GUESS
from kvlab.models.config.provenance import Provenance as Provenance
from kvlab.models.config.provenance import SourcedShape as SourcedShape
from kvlab.models.config.source import cached_folder as cached_folder
from kvlab.models.config.traced import shape_from_config as shape_from_config

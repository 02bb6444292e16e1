"""Facts: what a recording says, and how well, folded once. Questions read these and nothing else."""

from __future__ import annotations

from kvlab.recording.facts.facts import OWN, Facts, fold, model_of, version_of
from kvlab.recording.facts.figures import Counts, Series
from kvlab.recording.facts.known import Known
from kvlab.recording.facts.owners import Owners, Values

__all__ = ["OWN", "Counts", "Facts", "Known", "Owners", "Series", "Values", "fold", "model_of", "version_of"]

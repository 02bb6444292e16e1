"""What `tests.tools.train_tiny` is made of: the text, the recipes, the training loop, the figures and files of a trained model."""

from __future__ import annotations

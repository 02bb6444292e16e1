"""tiny-hybrid: three Gated DeltaNet layers and one of full attention, one token a byte. Trained for kvlab (`tests.tools.train_tiny`) and shipped with it."""

from __future__ import annotations

from kvlab.models.packaged import KnownModel, Licence, PackagedFile

MODEL = KnownModel(
    name="tiny-hybrid",
    title="tiny-hybrid",
    file=PackagedFile(
        name="tiny-hybrid/model.safetensors",
        parts=(),
        sha256="e75d71e3efba801780623e60677a43c020cc99ad30b0be154733d6032b8137c3",
    ),
    licence=Licence(name="MIT; trained on public-domain text", where="data/tiny-hybrid/card.json"),
    reader="shipped_net",
)

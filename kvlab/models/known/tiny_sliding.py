"""tiny-sliding: a window of 64 tokens in four of six layers, one token a byte. Trained for kvlab (`tests.tools.train_tiny`) and shipped with it."""

from __future__ import annotations

from kvlab.models.packaged import KnownModel, Licence, PackagedFile

MODEL = KnownModel(
    name="tiny-sliding",
    title="tiny-sliding",
    file=PackagedFile(
        name="tiny-sliding/model.safetensors",
        parts=(),
        sha256="e0839b247c4c818e0a69ea7c356f0f255c885f32c5388e04c27055b1f5194707",
    ),
    licence=Licence(name="MIT; trained on public-domain text", where="data/tiny-sliding/card.json"),
    reader="shipped_net",
)

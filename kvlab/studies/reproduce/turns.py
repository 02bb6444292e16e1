"""D4 (PR#18353) and #17783: long conversations, with the active path exempt from eviction and without."""

from __future__ import annotations

from kvlab.policy import Policy
from kvlab.studies.reproduce import scenes
from kvlab.studies.reproduce.models import hybrid27, sliding31
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Aside, Made
from kvlab.studies.reproduce.run import made, run, sizes
from kvlab.units import GB, GIB, MIB

TURNS = (11, 21, 31, 41, 50)
ARMS = {"before": "D4:before", "after": "D4"}
GEMMA_TURNS = 63


def table(published: Published) -> Made:
    """D4: both arms of the table, and gemma4's growth per turn."""
    del published
    figures: dict[str, float | None] = {"weights": hybrid27().weights_bytes / GIB}
    for arm, name in ARMS.items():
        recording = made(name)
        after = sizes(recording)
        for turn in TURNS:
            row = recording.requests.row(turn - 1, named=True)
            figures |= {
                f"{arm}_{turn}_paged_out": row["paged_out"] / GIB,
                f"{arm}_{turn}_nodes": row["nodes"],
                f"{arm}_{turn}_reported": after[turn - 1] / GIB,
            }
    counted = run(sliding31(), scenes.chat(GEMMA_TURNS), Policy(protect="active_path")).requests["counted"]
    figures["gemma4_per_turn"] = (counted[-1] - counted[-2]) / MIB
    return Made(figures)


def gemma(published: Published) -> Made:
    """#17783: SIZE over the turns of one conversation."""
    del published
    chats = {"its own question": scenes.same_question(10), "D4's chat": scenes.chat(10)}
    after = {name: [size / GB for size in sizes(run(sliding31(), chat, Policy.ollama("0.32.4")))] for name, chat in chats.items()}
    rows = tuple((name, *(f"{size:.1f}" for size in held)) for name, held in after.items())
    title = "size after each turn, GB, with questions and answers of other lengths"
    aside = Aside(title, ("chat", *(str(turn) for turn in range(1, 11))), rows)
    return Made({"size_at_start": sliding31().weights_bytes / GB, "size_at_turn_10": after["its own question"][9]}, (aside,))

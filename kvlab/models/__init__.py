"""Models: the embedded one, local folders, hub ids; what they are made of and how they are opened.

Every module here imports MLX inside its functions, so `import kvlab.models` brings in none.
"""

from __future__ import annotations

from kvlab.models.open import open_model as open_model

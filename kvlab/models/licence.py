"""Asks for a licence to be accepted before a model that needs it is fetched."""

from __future__ import annotations

import os

from kvlab.errors import NotAvailable
from kvlab.models.packaged import KnownModel


def require(model: KnownModel, *, accepted: bool) -> None:
    """Return when `model`'s licence needs no acceptance, or was accepted by argument or environment.

    Raises:
        NotAvailable: it was not accepted.
    """
    licence = model.licence
    if not licence.accept_env or accepted or os.environ.get(licence.accept_env) == "1":
        return
    raise NotAvailable(
        what=f"{model.title} comes under the {licence.name}, which have not been accepted",
        why=f"whoever uses the model is bound by them; read them at {licence.where}",
        hint=f"if you accept them, pass accept_licence=True or set {licence.accept_env}=1",
    )

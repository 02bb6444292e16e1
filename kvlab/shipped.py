"""Files that come with kvlab: `data/` and `notebooks/`.

In a checkout (an editable install) they are next to the package; a wheel carries them inside it, as `_data` and `_notebooks`.
"""

from __future__ import annotations

from pathlib import Path

from kvlab.errors import NotAvailable

PACKAGE = Path(__file__).resolve().parent
"""The folder of the package."""


def data(name: str = "") -> Path:
    """Return the path of `name` in `data/`; of the folder itself when no name is given.

    Raises:
        NotAvailable: Nothing of that name is shipped.
    """
    return _shipped("data", name)


def notebooks() -> Path:
    """Return the folder of the notebooks.

    Raises:
        NotAvailable: This installation has no notebooks.
    """
    return _shipped("notebooks", "")


def _shipped(folder: str, name: str) -> Path:
    in_checkout = (PACKAGE.parent / "pyproject.toml").is_file()
    path = (PACKAGE.parent / folder if in_checkout else PACKAGE / f"_{folder}") / name
    if not path.exists():
        raise NotAvailable(
            f"{folder}/{name} is not part of this installation",
            f"kvlab looked for {path}",
            "install kvlab again; in a checkout, check that the file is there",
        )
    return path

"""Importers: logs, tables and tools' outputs that people already have, read into recordings like those of our own runs.

`import_file` recognises the kind. Lines that are not understood are counted by kind and shown, never dropped in silence.
"""

from __future__ import annotations

from kvlab.importers.kinds import KINDS, recognise
from kvlab.importers.merged import import_files
from kvlab.importers.read import Imported, import_file, read_ollama_log, read_table
from kvlab.importers.summary import Summary

__all__ = ["KINDS", "Imported", "Summary", "import_file", "import_files", "read_ollama_log", "read_table", "recognise"]

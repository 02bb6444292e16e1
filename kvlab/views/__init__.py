"""Views: charts, text twins, cards and reports of recordings. They take tables, never run a model and never hold arrays."""

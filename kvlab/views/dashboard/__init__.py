"""The dashboard: trie, spans, bytes and requests of a recording or of a live run at any moment, under one time variable.

Python sends one compact dataset of intervals once (and what a step adds); the page in `kvlab/views/page` draws every moment of it by
itself. No array is held here, and nothing here runs a model: a live run goes on because its next event is pulled.
"""

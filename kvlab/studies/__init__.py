"""Studies: experiments that use everything below them and tell their story as text."""

"""Studies: experiments that use everything below them and print what they find."""

"""Two recordings on one axis: by request, by owner, and their tries side by side."""

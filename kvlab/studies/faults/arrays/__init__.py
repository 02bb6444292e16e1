"""What MLX and mlx-lm do by themselves, as installed: slices, a load, the prompt cache and its metadata.

Each function makes its own arrays and returns figures; the engine is involved in none but the load.
"""

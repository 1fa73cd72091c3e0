"""The paper's toy boards (G_n and G'_n): their rules as kernels, and how a deviator is punished on them."""

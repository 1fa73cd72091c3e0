"""The paper's toy boards (G_n and G'_n): their rules as kernels, and the punishing policies."""

"""Scripts that produce the pages of results, mostly with the packages' public names."""

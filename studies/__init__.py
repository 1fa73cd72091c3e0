"""Scripts that make the pages of results, over the public names of the packages."""

"""Scripts that make the pages of results, mostly over the public names of the packages."""

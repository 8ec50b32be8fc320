"""Settings of a run: files, keys, and what is wrong with them."""

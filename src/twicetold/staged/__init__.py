"""A dedupe of a folder of parts, out of core: stages between files, on one machine or many; see `dedupe`."""

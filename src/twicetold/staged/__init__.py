"""A dedupe of a folder of parts: stages between files, on one machine or many; see `folder_dedupe`."""

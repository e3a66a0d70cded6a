"""Learns the generic matcher of the tool, and measures it on kinds of files that were held out."""

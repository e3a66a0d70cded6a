"""Uses of text vectors besides duplicates: groups by topic, and their measures."""

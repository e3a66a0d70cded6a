"""twicetold: which cheap model tells me that two texts say the same thing, and how far can I trust it?"""

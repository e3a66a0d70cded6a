"""The lab of twicetold: trains families of models, compares them on the same data and splits, and reports.

It needs the extra `train`. `twicetold`, the tool, knows nothing of it.
"""

"""Names of what `pipelines/topics.py` writes to a run folder.

They are not in `layout`, which every training imports: a name there would make all trainings stale.
"""

TOPICS = "topics.json"  # {label: {method: metrics and intervals}}, on test
RELATED = "related.json"  # {label: {way of ranking: metrics and intervals}}, on test
MAP = "topic_map.json"  # `plane.TopicMap` of the usual number of topics, coloured by the label with the fewest values

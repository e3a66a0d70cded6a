"""Topics and related articles, measured on labelled texts, and the names of the files with what was measured."""

TOPICS = "topics.json"  # {label: {method: metrics and intervals}}, on test
RELATED = "related.json"  # {label: {way of ranking: metrics and intervals}}, on test
MAP = "topic_map.json"  # `plane.TopicMap` of the usual number of topics, coloured by the label with the fewest values

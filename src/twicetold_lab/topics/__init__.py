"""Topics and related articles, measured on labelled texts, and the names of the files with what was measured."""

TOPICS = "topics.json"  # {label: {method: metrics and intervals}}, on test
RELATED = "related.json"  # {label: {way of ranking: metrics and intervals}}, on test

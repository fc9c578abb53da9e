"""Kinds of data that our displays add to those of Jupyter."""

DATA_MIME = "application/vnd.boxyard.data+json"
CHART_MIME = "application/vnd.boxyard.chart+json"

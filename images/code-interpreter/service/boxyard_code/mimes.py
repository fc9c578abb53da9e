"""Media types that displays.py adds to those of Jupyter."""

DATA_MIME = "application/vnd.boxyard.data+json"
CHART_MIME = "application/vnd.boxyard.chart+json"

"""The code service of the template `code-interpreter`: runs cells in Jupyter kernels and streams their output and results."""

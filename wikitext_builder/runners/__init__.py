"""Where tasks run: processes of this machine or workers of a Dask cluster, and where their results are."""

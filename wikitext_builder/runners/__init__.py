"""Where the tasks of a build run: this process, processes of this machine, or workers of a Dask cluster."""

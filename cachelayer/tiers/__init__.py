"""Beyond the process's memory: the shared store, other processes, restarts, similar answers."""

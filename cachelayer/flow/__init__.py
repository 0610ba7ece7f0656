"""Tasks, queues and timeouts: made here and nowhere else."""

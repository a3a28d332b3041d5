"""fio: reads its results and jobs, writes jobs, and runs it."""

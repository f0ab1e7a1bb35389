"""Code that all benchmarks share: processes, the Azure protocols, wrk, and the report."""

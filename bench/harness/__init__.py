"""What every benchmark shares: processes, the Azure protocols, wrk, and the report."""

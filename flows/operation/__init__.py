"""Server, worker and deployments, which run releases on a schedule."""

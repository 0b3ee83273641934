"""Server, worker and deployments: what it takes to run releases on a schedule."""

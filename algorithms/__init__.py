"""All statistics: functions from arrays to arrays and figures, without files or flows."""

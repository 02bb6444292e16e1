"""The runner: one request at a time, event by event, on anything that answers the Model protocol."""
